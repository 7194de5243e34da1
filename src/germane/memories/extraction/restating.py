"""Restating: the words by which a message may speak of something said before as changed: those of its endings, of what it
denies, and of what it gives a time.

Most changes are told without any form of ending: "not the milk after all" has one, "cutover is 29 June" and "it's not the milk"
have none. So such words are only compared with those of earlier messages; what is alike may be outdated, and nothing ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from germane.memories.extraction.ended_by import object_terms
from germane.memories.extraction.ending_forms import denying, said_words
from germane.memories.extraction.endings import Ending
from germane.text.analyse import term_hash
from germane.text.normal import fold
from germane.text.sentences import sentences
from germane.text.traits import temporal
from germane.types.query import Term

__all__ = ["CUE", "RestatingTerm", "restating_terms"]

_MAX_READ, _MAX_TERMS = 2_000, 64
"""Characters of a message that are read, and terms that are kept."""
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
"""A line that somebody else wrote, such as those of a document (`prepared_message.py`)."""
_ENDED, _CHANGED, _BESIDE = 1.0, 0.7, 0.3
"""What a term weighs that is said to have ended, that stands in a sentence of a change, and that stands elsewhere."""
CUE = _CHANGED
"""A term that weighs less says nothing of a change by itself."""
_MIN_DIGITS = 3


class RestatingTerm(NamedTuple):
    """The hashes of a term's stems, and what it weighs: `weight`, and `dated` in comparison with a message that names a time
    too."""

    hashes: tuple[int, ...]
    weight: float
    dated: float


def restating_terms(text: str, endings: Iterable[Ending]) -> tuple[RestatingTerm, ...]:
    """Returns the terms of a message that may speak of something as changed; none where nothing in it does. Linear."""
    text = _QUOTED.sub("", text[:_MAX_READ])
    ended = {hash for ending in endings for term in ending.terms for hash in _hashes(term)}
    denied, dated = list[str](), list[str]()
    for start, end in sentences(text):
        sentence = text[start:end]
        if temporal(sentence):
            dated.append(fold(sentence))
        if any(denying().has(one.word) for one in said_words(sentence)):
            denied.append(fold(sentence))
    if not (ended or denied or dated):
        return ()
    terms: list[RestatingTerm] = []
    for term in object_terms(text):
        if term.word.isdigit() and len(term.word) < _MIN_DIGITS:
            continue
        hashes = _hashes(term)
        changed = any(term.word in sentence for sentence in denied)
        weight = _ENDED if not ended.isdisjoint(hashes) else _CHANGED if changed else _BESIDE
        names_time = any(term.word in sentence for sentence in dated)
        terms.append(RestatingTerm(hashes, weight, max(weight, _CHANGED) if names_time else weight))
        if len(terms) == _MAX_TERMS:
            break
    return tuple(terms)


def _hashes(term: Term) -> tuple[int, ...]:
    return tuple(map(term_hash, term.stems))
