"""Sentences: splits a text of any script into sentences, lines, and pieces of what is too long for either.

A full stop ends a sentence where white space follows, no small letter comes next, and no abbreviation stands before it. The
full stops of scripts that need no space after them, and the end of a line, always end one; but a line of wrapped prose goes on
in the next line.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["LONGEST", "clause_texts", "sentence_texts", "sentences"]

LONGEST = 400
"""Characters of a sentence; a longer one is cut at a clause, else at a space, else between characters."""
_PIECE = re.compile(
    r"[^.!?…。！？｡।॥؟۔\n]++[.!?…。！？｡।॥؟۔\n]*+[\"'”’»)\]」』）]*+\s*+|[.!?…。！？｡।॥؟۔\n]++[\"'”’»)\]」』）]*+\s*+"
)
"""Matches every character of a text: what stands before a mark, the marks, what closes them, and the space behind."""
_CLOSING = "\"'”’»)]」』）"
_SPACED = ".!?…"
"""Marks that end a sentence only before white space."""
_CLAUSES = ("; ", ", ", ": ", " – ", " — ", "，", "、", "；", "：", "، ", "؛ ")
_CLAUSE = re.compile(r"[,;:()–—，；：、]|\b(?:and|but|und|aber|et|mais|y|pero)\b")
_ABBREVIATIONS = frozenset(
    (
        *("dr", "mr", "mrs", "ms", "prof", "sr", "jr", "st", "vs", "etc", "e.g", "i.e", "cf", "no", "nr", "vol", "fig"),
        *("inc", "ltd", "bzw", "usw", "z.b", "d.h", "ca", "bspw", "sra", "av", "approx", "dept"),
    )
)
_WRAPPED = 40
"""Characters of a line from which on it may be prose that was wrapped."""
_MAX_CLUSTER = 64
_JOINERS = "\u200c\u200d"


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns the start and the end of each sentence, in order and without gaps: every character belongs to one. Linear in the
    text's length; accepts any string."""
    found, start, end = list[tuple[int, int]](), 0, 0
    for piece in _PIECE.finditer(text):
        end = piece.end()
        if end < len(text) and not _ends(text, piece.start(), end):
            continue
        if end - start <= LONGEST:
            found.append((start, end))
        else:
            found.extend(_cut(text, start, end))
        start = end
    return found


def sentence_texts(text: str) -> list[str]:
    """Returns the sentences of a text, in order. Linear."""
    return [text[start:end] for start, end in sentences(text)]


def clause_texts(text: str) -> list[str]:
    """Returns the clauses of a text, in order, without the words and marks that join them. Linear."""
    return [clause for sentence in sentence_texts(text) for clause in _CLAUSE.split(sentence) if clause.strip()]


def _ends(text: str, start: int, end: int) -> bool:
    """Whether a sentence ends with the piece from `start` to `end`, behind which the text goes on."""
    bare = start + len(text[start:end].rstrip())
    space, following = text[bare:end], text[end]
    if "\n" in space:
        line = text.rfind("\n", max(0, bare - _WRAPPED), bare)
        wrapped = space.count("\n") == 1 and following.islower() and line < 0 and bare >= _WRAPPED
        return not (wrapped and (text[bare - 1].isalnum() or text[bare - 1] == ","))
    while bare > start and text[bare - 1] in _CLOSING:
        bare -= 1
    if bare == start or text[bare - 1] not in _SPACED:
        return bare > start
    if not space or following.islower():
        return False
    return text[bare - 1] != "." or not _abbreviated(text, start, bare - 1)


def _abbreviated(text: str, start: int, stop: int) -> bool:
    """Whether the full stop at `stop` belongs to an initial or an abbreviation; digits before it may number a list's item."""
    word = text[max(start, stop - 12) : stop].rpartition(" ")[2].lstrip("(\"'“")
    return (len(word) == 1 and word.isalpha()) or word.lower() in _ABBREVIATIONS


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentence in pieces of at most `LONGEST` characters."""
    while end - start > LONGEST:
        stop = _place(text, start, start + LONGEST)
        yield start, stop
        start = stop
    yield start, end


def _place(text: str, start: int, stop: int) -> int:
    """The best place to cut between the middle of these characters and their end."""
    middle = (start + stop) // 2
    clause = max(text.rfind(mark, middle, stop) + len(mark) if text.find(mark, middle, stop) >= 0 else 0 for mark in _CLAUSES)
    if clause > middle:
        return clause
    for index in range(stop - 1, middle, -1):
        if text[index].isspace():
            return index + 1
    for index in range(stop, stop - _MAX_CLUSTER, -1):
        if not _holds(text[index - 1], text[index]):
            return index
    return stop


def _holds(before: str, after: str) -> bool:
    """Whether these characters belong together, as far as that shows without their surroundings."""
    if after.isascii():
        return before == "\r" and after == "\n"
    if after in _JOINERS or before in _JOINERS or unicodedata.category(after)[0] == "M":
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff":
        return True
    flags = "\U0001f1e6" <= after <= "\U0001f1ff" and "\U0001f1e6" <= before <= "\U0001f1ff"
    return flags or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff"
