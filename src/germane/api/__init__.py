"""API: what a user calls. It opens and closes a store, checks arguments, and asks the pipeline or commits a plan."""
