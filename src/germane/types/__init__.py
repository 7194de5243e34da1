"""Types: the frozen values that travel between the stages; they import only one another, the clock and the errors."""
