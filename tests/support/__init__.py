"""Support: what several test modules share: stand-ins, generated data, servers, and the source tree as the rules read it."""
