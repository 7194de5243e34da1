"""Memories: what is known, typed, with its source and its life."""
