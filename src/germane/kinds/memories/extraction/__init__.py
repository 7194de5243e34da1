"""Extraction: memories that rules find in what users say, in their own words and languages."""
