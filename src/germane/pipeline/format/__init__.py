"""Format: what was chosen, written so that the model uses it and nobody can forge it. It decides nothing about what goes in."""
