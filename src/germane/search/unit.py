"""Unit: the search row of one stored thing. Derived from its text in the transaction that stores it; holds no text itself.

Terms are hashes of stems, so that a forgotten word leaves no vocabulary behind; their order is kept, for phrases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from germane.memories.memory import KINDS
from germane.text.analyse import analyse, term_hash
from germane.text.blocks import blocks
from germane.text.language import detect
from germane.text.normal import fold
from germane.text.traits import capitals, is_question, temporal, word_count

__all__ = [
    "ASSISTANT",
    "CAPITALS",
    "KIND_CODES",
    "QUESTION",
    "SENSITIVITY_CODES",
    "TEMPORAL",
    "USER",
    "Analysis",
    "Unit",
    "analysed",
    "describe",
]

QUESTION, TEMPORAL, USER, ASSISTANT = 1, 2, 4, 8
_STEP = 1024
"""Characters of a long text that are analysed at once: about a millisecond at most."""
CAPITALS = 4
"""Bits to shift: the two bits above hold min(3, capitalised words inside sentences)."""

SENSITIVITY_CODES = {"public": 0, "private": 1, "sensitive": 2}
KIND_CODES = {kind: code for code, kind in enumerate(sorted(KINDS), start=1)}
"""0 is an event."""


class Unit(NamedTuple):
    """`key` and `session` are the store's row numbers, times are seconds since the epoch, `terms` little-endian uint32,
    `vector` as `quantised.py` encodes it, `speaker` the hash of the folded name (0: none)."""

    key: int
    session: int
    created_at: float
    terms: bytes
    vector: bytes | None
    flags: int
    speaker: int
    sensitivity: int
    kind: int
    valid_from: float
    valid_to: float
    words: int


class Analysis(NamedTuple):
    """What is read off a text, whoever said it: `terms` and `words` as in a `Unit`, and those of its `flags`."""

    terms: bytes
    flags: int
    words: int


def analysed(text: str, between: Callable[[], None] = lambda: None) -> Analysis:
    """The analysis of a text, in time linear in its length. Of a long one block by block: `between` is called after each."""
    language = detect(text)
    flags, named, words = QUESTION * is_question(text), 0, 0
    terms: list[bytes] = []
    for block in blocks(text, _STEP):
        terms.append(hashes(analyse(block, language)).tobytes())
        flags |= TEMPORAL * temporal(block)
        named += capitals(block)
        words += word_count(block)
        between()
    return Analysis(b"".join(terms), flags | min(3, named) << CAPITALS, words)


def describe(
    *,
    key: int,
    session: int,
    created_at: float,
    text: str,
    role: str,
    name: str,
    sensitivity: str,
    kind: str,
    valid_from: float = -inf,
    valid_to: float = inf,
    analysis: Analysis | None = None,
) -> Unit:
    """The unit of a text, its vector still to come. `kind` is a memory's kind, or anything else for an event; `analysis` the
    text's own, where it has been made already."""
    found = analysed(text) if analysis is None else analysis
    flags = found.flags | USER * (role == "user") | ASSISTANT * (role == "assistant")
    return Unit(
        key=key,
        session=session,
        created_at=created_at,
        terms=found.terms,
        vector=None,
        flags=flags,
        speaker=term_hash(fold(name)) if name else 0,
        sensitivity=SENSITIVITY_CODES[sensitivity],
        kind=KIND_CODES.get(kind, 0),
        valid_from=valid_from,
        valid_to=valid_to,
        words=found.words,
    )


def hashes(stems: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.fromiter(map(term_hash, stems), dtype="<u4", count=len(stems))
