"""Graph in SQL: the rows of entities, relations and patterns, look-ups and walks, and what plans do."""
