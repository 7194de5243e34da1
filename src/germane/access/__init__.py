"""Access: who may call. API keys as values, and what may be done to them, decided without I/O."""
