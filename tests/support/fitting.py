"""Fitting: texts that a pattern fits, for properties of patterns."""

from __future__ import annotations

import re

from hypothesis import strategies as st

__all__ = ["fitting"]

AROUND = st.sampled_from(["", " ", "x ", " y", "?", "1", ". "])


def fitting(pattern: re.Pattern[str], alphabet: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[str]:
    """Texts in which the pattern is found, with something around it. `alphabet` holds the characters of what is found."""
    inside = st.from_regex(pattern, alphabet=alphabet)
    return st.builds("{}{}{}".format, AROUND, inside, AROUND).filter(lambda text: pattern.search(text) is not None)
