"""Blocks in SQL: the rows of blocks and archival entries, their documents, and what plans do with them."""
