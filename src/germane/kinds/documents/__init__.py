"""Documents: files and texts that are read, divided into passages and searched."""
