"""Reading: what the messages of one exchange leave behind, found by rules: constraints, artifacts, and a line."""
