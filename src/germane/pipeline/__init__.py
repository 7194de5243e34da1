"""Pipeline: from a request to a context. `engine.py` runs the stages in order; each stage is a package beside it."""
