"""HTTP: the server of the HTTP port and what it serves."""
