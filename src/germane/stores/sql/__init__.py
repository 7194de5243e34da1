"""SQL: the rows of each kind of stored thing, what is done to a whole store, and search in memory."""
