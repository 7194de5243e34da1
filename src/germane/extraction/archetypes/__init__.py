"""Archetypes: what a kind of agent records and asks for: what its events say, and how its context is made."""
