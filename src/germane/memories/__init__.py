"""Memories: the six kinds of memory, and the rules by which they are remembered, updated, rated and forgotten."""
