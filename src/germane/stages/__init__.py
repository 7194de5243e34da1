"""Stages: from a request to its context, in order: compact, measure, read, gather, score, pack, gate, write, inject."""
