"""API: what a user calls. It opens and closes a store, checks arguments, and asks the engine or commits a plan."""
