"""Archetypes: what a kind of agent records and asks for: what its events say of the graph, and how its context is made."""
