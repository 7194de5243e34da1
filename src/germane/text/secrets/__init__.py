"""Secrets: recognises credentials in a text by their form or by the name before them, and replaces them by markers."""
