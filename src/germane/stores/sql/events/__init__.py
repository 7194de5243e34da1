"""Events in SQL: messages and typed events, which share one table, and the sessions that hold them."""
