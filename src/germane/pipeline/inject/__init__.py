"""Inject: germane's text into the caller's messages, and recognised when it comes back."""
