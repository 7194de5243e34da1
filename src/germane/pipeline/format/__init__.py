"""Format: the fifth stage: writes the chosen items as text that stored content can't forge. It doesn't choose items."""
