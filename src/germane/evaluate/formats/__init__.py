"""Formats: read public data sets and the user's own recorded requests as labelled conversations; `load` is the entry point."""

from germane.evaluate.formats.load import FORMATS, load

__all__ = ["FORMATS", "load"]
