"""Profile: the lines about a user that are in each context."""
