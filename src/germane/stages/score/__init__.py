"""Score: the stage that gives each candidate one comparable score, with its parts. Pure arithmetic over numpy arrays."""
