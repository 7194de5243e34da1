"""Injections: what was injected for each turn of a session, kept so that it stays where it stands (INJECT-6)."""
