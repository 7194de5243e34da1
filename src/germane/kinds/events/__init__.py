"""Events: what an agent did and decided, typed by archetypes."""
