"""Calling: the parts of the client: what goes out, what comes back, and what happens when nothing does."""
