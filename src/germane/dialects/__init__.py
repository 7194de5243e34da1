"""Dialects: the providers' message formats, one module each; `registry` finds one by name or from a message."""
