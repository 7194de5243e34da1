"""Formats: readers of public data sets and of the user's own recorded requests; `load` is the entry point."""

from germane.evaluate.formats.load import FORMATS, load

__all__ = ["FORMATS", "load"]
