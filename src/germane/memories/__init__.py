"""Memories: what is worth knowing, its kinds and its life. What is decided here is a plan; a store carries it out."""
