"""Messages: what was said, recorded from conversations."""
