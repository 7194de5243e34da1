"""Formats: data sets of others, and the user's own requests, as labelled conversations. `load` is the way in."""

from germane.evaluate.formats.load import FORMATS, load

__all__ = ["FORMATS", "load"]
