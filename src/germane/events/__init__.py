"""Events: what was said and done, verbatim, in sessions. What recording decides is a plan; a store carries it out."""
