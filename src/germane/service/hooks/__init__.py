"""Hooks: what coding agents send to the local service when something happens in them, and what they get back."""
