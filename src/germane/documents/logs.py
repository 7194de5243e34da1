"""Logs: the pieces of a log: its records, with repetitions counted instead of repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from germane.documents.lines import Line, lines
from germane.documents.piece import Piece

__all__ = ["is_log", "log_pieces"]

_STAMP = re.compile(
    r"[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d[-/.]\d{2,4}|[A-Z][a-z]{2} [ \d]\d|\d\d/[A-Z][a-z]{2}/\d{4})"
    r"[T ,:]{0,2}(?:\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?[\])]?[ \t:,|-]{0,4}"
    r"|[\[(]?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?[\])]?[ \t:,|-]{0,4}"
    r"|\d{9,13}(?:\.\d{1,9})?[ \t:,|-]{1,4}"
)
_LEVEL = re.compile(
    r"[\[<(]?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRITICAL|FATAL|ALERT|EMERG|SEVERE)\b", re.IGNORECASE
)
_MAX_HEAD = 80
_LOOKED_AT = 200
_SHARE = 0.6
"""The share of the first lines that begin like records, from which on a text is a log."""


def is_log(text: str) -> bool:
    """Whether a text looks like a log, by the lines at its beginning."""
    found = [line for line in text[: _LOOKED_AT * 400].split("\n")[:_LOOKED_AT] if line and not line.isspace()]
    return len(found) >= 5 and sum(map(_begins, found)) >= _SHARE * len(found)


def log_pieces(text: str) -> Iterator[Piece]:
    """Yields the records in order, in time linear in the text. A record that says the same as the one before it, but for its
    time, is counted with that one. Numbers make a difference: one error among many successes may be nothing but a number."""
    repeated, first, last, said = 0, list[Line](), list[Line](), ""
    for record in _records(lines(text)):
        says = _says(record)
        if first and says == said:
            repeated, last = repeated + 1, list(record)
            continue
        if first:
            yield _piece(first, last, repeated)
        first, last, repeated, said = list(record), list(record), 0, says
    if first:
        yield _piece(first, last, repeated)


def _piece(first: Sequence[Line], last: Sequence[Line], repeated: int) -> Piece:
    text = "\n".join(line.text.rstrip() for line in first)
    if repeated:
        until = _STAMP.match(last[0].text[:_MAX_HEAD])
        when = f", the last at {until[0].strip(' [](),:|-')}" if until else ""
        text = f"{text}\n(and {repeated:,} more like it{when})"
    return Piece(text, first[0].start, last[-1].stop)


def _records(found: Sequence[Line]) -> Iterator[Sequence[Line]]:
    """A record is a line that begins with a time or a level, with the lines behind it up to the next one; in a log without
    either, each line."""
    stamped = is_log("\n".join(line.text for line in found[:_LOOKED_AT]))
    begin: int | None = None
    for index, line in enumerate(found):
        if begin is None:
            begin = None if line.blank else index
        elif not stamped or _begins(line.text):
            yield _trimmed(found[begin:index])
            begin = None if line.blank else index
    if begin is not None:
        yield _trimmed(found[begin:])


def _trimmed(record: Sequence[Line]) -> Sequence[Line]:
    stop = len(record)
    while record[stop - 1].blank:
        stop -= 1
    return record[:stop]


def _begins(line: str) -> bool:
    head = line[:_MAX_HEAD]
    return bool(_STAMP.match(head) or _LEVEL.match(head.lstrip()))


def _says(record: Sequence[Line]) -> str:
    """What a record says, without its time."""
    text = "\n".join(line.text for line in record)
    stamp = _STAMP.match(text[:_MAX_HEAD])
    return text[stamp.end() :] if stamp else text
