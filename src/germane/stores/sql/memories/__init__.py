"""Memories in SQL: their rows, readers, contradictions, directives, and the queue of the extraction."""
