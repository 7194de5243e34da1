"""Containment: whether the added text contains the words of the answer.

The metric needs no labelled messages, only the answer. It can't judge an answer that has to be worked out, such as a sum, or a
paraphrase.
"""

from __future__ import annotations

import re

from germane.text.analyse import analyse, query_terms
from germane.text.normal import fold
from germane.text.words import UNSPACED

__all__ = ["contained", "words_shared"]

_WORD = re.compile(r"\w+")
_ARTICLES = frozenset({"a", "an", "the"})
_UNSPACED = re.compile(f"[{UNSPACED}]")


def contained(answer: str, text: str) -> bool | None:
    """Whether the normalised text contains the normalised answer: folded, without punctuation and English articles. Only whole
    words match in scripts that separate words by spaces. None for an answer without a word."""
    wanted, given = _normal(answer), _normal(text)
    if not wanted:
        return None
    return wanted in given if _UNSPACED.search(wanted) else f" {wanted} " in f" {given} "


def words_shared(answer: str, text: str) -> float | None:
    """The share of the answer's distinct content words (stemmed, without stop words) that the text contains, [0, 1]; None for
    an answer without content words."""
    terms = query_terms(answer)
    if not terms:
        return None
    stems = frozenset(analyse(text))
    return sum(not stems.isdisjoint(term.stems) for term in terms) / len(terms)


def _normal(text: str) -> str:
    return " ".join(word for word in _WORD.findall(fold(text)) if word not in _ARTICLES)
