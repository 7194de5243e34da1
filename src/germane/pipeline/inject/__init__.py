"""Inject: the last stage: puts germane's text into the caller's messages, and recognises it when it comes back."""
