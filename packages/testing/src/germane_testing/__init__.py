"""Testing: contracts of stores, pins, faults, clocks and generated conversations for tests of germane and of its users."""
