"""Search: the search rows of stored texts, the partitions that are loaded into memory, and their vectors."""
