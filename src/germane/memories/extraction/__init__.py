"""Extraction: what a user's own words state about themselves and ask for, found by rules, without a language model."""
