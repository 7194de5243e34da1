"""Types: the frozen values that travel between the stages. They import nothing but one another, the clock and the errors."""
