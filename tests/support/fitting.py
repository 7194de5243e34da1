"""Fitting: texts that a pattern fits, for properties of patterns."""

from __future__ import annotations

import re

from hypothesis import strategies as st

__all__ = ["fitting"]

AROUND = st.sampled_from(["", " ", "x ", " y", "?", "1", ". "])


def fitting(pattern: re.Pattern[str]) -> st.SearchStrategy[str]:
    """Texts in which the pattern is found, with something around it."""
    inside = st.from_regex(pattern)
    return st.builds("{}{}{}".format, AROUND, inside, AROUND).filter(lambda text: pattern.search(text) is not None)
