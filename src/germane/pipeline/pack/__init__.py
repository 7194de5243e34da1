"""Pack: the fourth stage: choose the items that fit the token budget, and say why the rest is left out. Pure."""
