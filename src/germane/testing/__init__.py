"""Testing: public tools for tests of applications and stores: pinned contexts, faults, clocks, builders, store contracts."""
