"""Unit: the search row of one event or memory, or of a part of a long one, derived from its text.

A unit is made when its text is stored, and holds no text. Its terms are hashes of stems, so that forgotten text leaves no
vocabulary behind; they are in the order of the text, for phrases.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf
from typing import NamedTuple

from germane.text.language import detect
from germane.text.normal import blocks, fold
from germane.text.specifics import capitals, is_question, temporal, word_count
from germane.text.terms import hashed, term_hash
from germane.types.candidate import LONG_TEXT

QUESTION, TEMPORAL, USER, ASSISTANT = 1, 2, 4, 8
"""Bits of `flags`: the text asks a question, holds a word of time, was said by the user, was said by the assistant."""
_STEP = 1024
"""Characters of a long text that are analysed at once: about a millisecond at most."""
CAPITALS = 4
"""Bits to shift `flags` by: the two bits from there hold min(3, capitalised words inside sentences)."""

SENSITIVITY_CODES = {"public": 0, "private": 1, "sensitive": 2}
KIND_CODES = {
    "behavior": 1,
    "episode": 2,
    "fact": 3,
    "note": 4,
    "preference": 5,
    "procedure": 6,
    "entry": 7,
    "archival": 8,
    "hidden": 9,
    "block": 10,
}
"""Codes of the kinds of memories, of archival entries and blocks, of blocks that aren't found, and of all other blocks; 0 is an
event. Both tables are stored in the search rows: a code never changes its meaning."""


class Unit(NamedTuple):
    """`key` and `session` are the store's row numbers, times are seconds since the epoch, `terms` is little-endian uint32,
    `vector` is encoded by `quantised.encode`, `speaker` is the hash of the folded name (0: none). `part` counts the parts of a
    long text from 0; the unit is that of the bytes `start` to `stop` of the text, where `stop` isn't 0. `tokens` are those of
    the text by the commonest vocabulary; 0 where nobody has counted."""

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
    part: int = 0
    start: int = 0
    stop: int = 0
    tokens: int = 0


class Analysis(NamedTuple):
    """The part of a `Unit` that follows from the text alone: `terms`, `words`, the `flags` that don't name a speaker, and the
    place in a long text."""

    terms: bytes
    flags: int
    words: int
    start: int = 0
    stop: int = 0


def analyse_text(text: str, between: Callable[[], None] = lambda: None) -> Analysis:
    """Analyses a text, in time linear in its length. A long text is analysed block by block; `between` is called after each."""
    language = detect(text)
    flags, named, words = QUESTION * is_question(text), 0, 0
    terms: list[bytes] = []
    for block in blocks(text, _STEP):
        terms.append(hashed(block, language))
        flags |= TEMPORAL * temporal(block)
        named += capitals(block)
        words += word_count(block)
        between()
    return Analysis(b"".join(terms), flags | min(3, named) << CAPITALS, words)


def analyse_parts(text: str, between: Callable[[], None] = lambda: None) -> tuple[Analysis, ...]:
    """Analyses the parts of a text; see `analysed`."""
    cut = parts(text)
    if len(cut) == 1:
        return (analyse_text(text, between),)
    return tuple(analyse_text(part.text, between)._replace(start=part.start, stop=part.stop) for part in cut)


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
    part: int = 0,
) -> Unit:
    """Returns the unit of a text, or of a part of it, without its vector. Times are seconds since the epoch. A `kind` that
    isn't a memory's means an event. `analysis` is the analysis of the text or part, where the caller has it already."""
    analysis = analyse_text(text) if analysis is None else analysis
    flags = analysis.flags | USER * (role == "user") | ASSISTANT * (role == "assistant")
    return Unit(
        key=key,
        session=session,
        created_at=created_at,
        terms=analysis.terms,
        vector=None,
        flags=flags,
        speaker=term_hash(fold(name)) if name else 0,
        sensitivity=SENSITIVITY_CODES[sensitivity],
        kind=KIND_CODES.get(kind, 0),
        valid_from=valid_from,
        valid_to=valid_to,
        words=analysis.words,
        part=part,
        start=analysis.start,
        stop=analysis.stop,
    )


# Cuts a long text into the parts that are searched, each of which has a search row of its own. A message of a million
# characters has one answer somewhere. As one document of BM25 and one vector, its words count for nothing; as parts of
# some thousand characters it is found, scored and shown like a conversation of that length. A part ends at a blank
# line, else at the end of a line, of a sentence or of a word, where one stands in its second half.


MAX_PART = 2_048
"""Bytes of UTF-8 that a part has at most; the last one has up to half as many more. Some 400 tokens: in longer parts one
sentence counts for little, in shorter ones its surroundings are missing."""
_ENDS = (
    (b"\n\n",),
    (b"\n",),
    (b". ", b"! ", b"? ", "。".encode(), "！".encode(), "？".encode(), "؟ ".encode(), "। ".encode()),
    (b" ", b"\t", "\u3000".encode(), "、".encode(), "，".encode()),
)


class Part(NamedTuple):
    """Bytes `start` to `stop` of a text's UTF-8. A text that isn't long has one part, whose `stop` is 0: the whole."""

    text: str
    start: int = 0
    stop: int = 0


def parts(text: str) -> tuple[Part, ...]:
    """Returns the parts in order, without gaps, in time linear in the text's length. No character is torn."""
    if len(text) <= LONG_TEXT // 4:
        return (Part(text),)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= LONG_TEXT:
        return (Part(text),)
    cuts = [0]
    while len(data) - cuts[-1] > MAX_PART * 3 // 2:
        cuts.append(_end(data, cuts[-1] + MAX_PART // 2, cuts[-1] + MAX_PART))
    cuts.append(len(data))
    return tuple(Part(data[start:stop].decode("utf-8", "surrogatepass"), start, stop) for start, stop in pairwise(cuts))


def _end(data: bytes, low: int, high: int) -> int:
    """Returns the best place between `low` and `high` for a part to end."""
    for ends in _ENDS:
        if (last := max(data.rfind(end, low, high) + len(end) for end in ends)) > low:
            return last
    while data[high] & 0xC0 == 0x80:
        high -= 1
    return high
