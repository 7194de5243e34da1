"""Gather: the stage that reads the store: all sources in parallel under one deadline, and the candidates that they offer."""
