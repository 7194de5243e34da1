"""Keywords: the terms of a question; of a long one the most telling (SIG-3); of a follow-up also a few from before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from germane.text.analyse import query_terms
from germane.text.normal import fold
from germane.types.query import Term

__all__ = ["follow_up", "keywords"]

_MOST = 32
_SHORT = 3
_BORROWED = 5
_SENTENCE = re.compile(r"[^.!?。！？؟।\n]+[.!?。！？؟।]*")
_CAPITALISED = re.compile(r"(?<=[\w,;:] )[A-Z\u00c0-\u00de\u0391-\u03a9\u0410-\u042f]\w+")
_REFERS = re.compile(
    r"^(?:and|but|so|also|then|what about|how about|ok(?:ay)?|yes|no|why|really)\b"
    r"|\b(?:it|its|that|those|these|this|them|they|their|he|his|him|she|her|hers|there|one|ones|same|both|either|other|others)\b"
    r"|[它他她这那]|それ|その|그것|^(?:и|а|y|et|und)\b",
    re.IGNORECASE,
)


def keywords(text: str) -> tuple[Term, ...]:
    """At most 32 terms, in the order of the text. All of a short question, the most telling of a long one."""
    terms = query_terms(text)
    return terms if len(terms) <= _MOST else _telling(text, terms, _MOST)


def follow_up(text: str, terms: tuple[Term, ...], earlier: Sequence[str]) -> tuple[Term, ...]:
    """`terms`, followed by up to five of the `earlier` texts when the question has at most three and leans on what was
    said ("and the other one?"), or has hardly any of its own."""
    if len(terms) > _SHORT or not (len(terms) <= 1 or _REFERS.search(text)):
        return terms
    known = {term.word for term in terms}
    borrowed: list[Term] = []
    for turn in earlier:
        new = [term for term in query_terms(turn) if term.word not in known]
        room = _BORROWED - len(borrowed)
        chosen = tuple(new) if len(new) <= room else _telling(turn, tuple(new), room)
        borrowed += chosen
        known.update(term.word for term in chosen)
    return (*terms, *borrowed)


def _telling(text: str, terms: tuple[Term, ...], most: int) -> tuple[Term, ...]:
    """The `most` terms that say most about what a text is about, in the order of the text.

    Points for length, digits and joints (identifiers), capitals inside sentences, and for standing in a title, the
    first or last sentence, or a question.
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

    best = sorted(range(len(terms)), key=lambda place: (-points(terms[place]), place))[:most]
    return tuple(terms[place] for place in sorted(best))
