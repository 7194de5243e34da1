"""Pack: the stage that chooses the items that fit the token budget, and says why the rest is left out. Pure."""
