"""Graph: entities, how they relate, and what worked before."""
