"""Kinds: one folder for each kind of stored thing, with its values, reads, plans and handle."""
