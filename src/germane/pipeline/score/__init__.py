"""Score: one comparable number for each candidate, with its parts. Pure arithmetic over numpy arrays."""
