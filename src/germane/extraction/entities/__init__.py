"""Extraction of entities: entities and relations that rules find in one text, without a language model."""
