"""Keywords: the search terms of a question, limited for long texts (SIG-3), with earlier terms for follow-ups."""

from __future__ import annotations

import re
from collections.abc import Sequence

from germane.text.analyse import query_terms
from germane.text.normal import fold
from germane.types.query import Term

__all__ = ["follow_up", "keywords"]

_MAX_TERMS = 32
_MAX_FOLLOW_UP = 3
"""Terms that a follow-up question has at most."""
_MAX_BORROWED = 5
_SENTENCE = re.compile(r"[^.!?。！？؟।\n]+[.!?。！？؟।]*")
_CAPITALISED = re.compile(r"(?<=[\w,;:] )[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]\w+")
_REFERS = re.compile(
    r"^(?:and|but|so|also|then|what about|how about|ok(?:ay)?|yes|no|why|really)\b"
    r"|\b(?:it|its|that|those|these|this|them|they|their|he|his|him|she|her|hers|there|one|ones|same|both|either|other|others)\b"
    r"|[它他她这那]|それ|その|그것|^(?:и|а|y|et|und)\b",
    re.IGNORECASE,
)


def keywords(text: str) -> tuple[Term, ...]:
    """At most 32 terms in the order of the text: all terms of a short question, the most informative terms of a long one."""
    terms = query_terms(text)
    return terms if len(terms) <= _MAX_TERMS else _telling(text, terms, _MAX_TERMS)


def follow_up(text: str, terms: tuple[Term, ...], earlier: Sequence[str]) -> tuple[Term, ...]:
    """`terms`, followed by up to five terms of the `earlier` texts if the question is a follow-up: it has at most three terms
    and refers to what was said before ("and the other one?"), or it has at most one term."""
    if len(terms) > _MAX_FOLLOW_UP or not (len(terms) <= 1 or _REFERS.search(text)):
        return terms
    known = {term.word for term in terms}
    borrowed: list[Term] = []
    for turn in earlier:
        new = [term for term in query_terms(turn) if term.word not in known]
        room = _MAX_BORROWED - len(borrowed)
        chosen = tuple(new) if len(new) <= room else _telling(turn, tuple(new), room)
        borrowed += chosen
        known.update(term.word for term in chosen)
    return (*terms, *borrowed)


def _telling(text: str, terms: tuple[Term, ...], limit: int) -> tuple[Term, ...]:
    """The `limit` terms that tell most about the subject of a text, in the order of the text.

    A term gets points for its length, for characters that aren't letters (identifiers), for a capital within a sentence, and
    for standing in a title, the first or last sentence, or a question.
    """
    sentences = [sentence for sentence in _SENTENCE.findall(text) if sentence.strip()] or [text]
    asking = [sentence for sentence in sentences[1:-1] if sentence.rstrip()[-1:] in "?？؟"][:8]
    framed = {term.word for sentence in (sentences[0], sentences[-1], *asking) for term in query_terms(sentence[:400])}
    capitalised = {fold(word) for word in _CAPITALISED.findall(text)}

    def points(term: Term) -> float:
        word = term.word
        return (
            min(len(word), 12) / 12
            + 0.5 * (not word.isalpha())
            + 0.6 * (word in capitalised)
            + 0.9 * (word in framed)
            - 0.8 * (word.isdecimal() and len(word) < 4)
        )

    best = sorted(range(len(terms)), key=lambda index: (-points(terms[index]), index))[:limit]
    return tuple(terms[index] for index in sorted(best))
