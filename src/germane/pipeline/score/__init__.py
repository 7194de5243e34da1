"""Score: the third stage: gives each candidate one comparable score, with its parts. Pure arithmetic over numpy arrays."""
