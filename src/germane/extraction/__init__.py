"""Extraction: what recorded texts say, found by rules, and by a language model where one is set."""
