"""Write: the stage that writes the chosen items as text that stored content can't forge. It chooses nothing."""
