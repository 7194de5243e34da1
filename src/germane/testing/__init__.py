"""Testing: what tests of germane, and of what is built on it, need: clocks, builders, faults, contracts. Public."""
