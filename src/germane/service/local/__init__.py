"""Local: the one service of a person on their own machine, which coding agents share: found, called, started and ended."""
