"""Gather: the second stage, the only one that reads the store: all sources in parallel under one deadline."""
