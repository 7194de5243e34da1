"""Compaction: makes a long conversation fit: what is masked, what is summarised, what is dropped, and what is never lost."""
