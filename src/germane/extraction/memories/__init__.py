"""Extraction of memories: what users state, end and correct, found by rules in their own words and languages."""
