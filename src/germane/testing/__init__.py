"""Testing: public tools for tests of applications and stores: pins, faults, clocks, builders, store contracts."""
