"""Engine: runs the stages in order, and keeps what outlives one assembly: queue, breakers, caches, injections."""
