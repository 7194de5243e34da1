"""Catalog: facts about each model, and the token cost of a request for it; no network; settings add and override models."""
