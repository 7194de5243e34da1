"""Search: BM25, vector and other evidence for a query, computed over arrays in memory; stores load the rows."""
