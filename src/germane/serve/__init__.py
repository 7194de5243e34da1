"""Serve: the service as processes: one or several, from the opening of the file to the last answer. A surface."""
