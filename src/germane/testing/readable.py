"""Readable: the added text of a context in a stable form for snapshots, without nonce, ids and scores.

The text is what the model reads, with three replacements: the nonce by a fixed word, stored ids by the caller's message id
(where there is one), and scores by `…`, because they change with every refit. Handles such as `a3` lose their numbers, so that
one more line doesn't change all lines after it. Stored text can't imitate the replaced parts: the formats escape it.
"""

from __future__ import annotations

import re

from germane.types.candidate import Chosen
from germane.types.context import Context

__all__ = ["readable"]

_NONCE = re.compile(r'nonce="([^"\n]+)"')
_ELEMENT = re.compile(r'^(<(?:memory|message) id=")([^"\n]*)("[^>\n]*>)', re.MULTILINE)
_SCORE = re.compile(r' score="[\d.]+">$')
_HANDLE = re.compile(r"^\[([am])\d+\] ", re.MULTILINE)
_SHORT = re.compile(r"[am]\d+")
_ANY_SCORE = ' score="…">'
_TIME = re.compile(r'^(<message [^>\n]*?time=")[^"\n]*', re.MULTILINE)
_DAY = re.compile(r"^## \d{4}-\d\d-\d\d", re.MULTILINE)


def readable(context: Context, *, times: bool = True) -> str:
    """Returns the stable text, with a newline at the end. With `times=False` days and times are replaced too, for tests that
    record messages while they run."""
    text, items = context.added, iter(context.items)
    if found := _NONCE.search(text):
        text = text.replace(found[1], "nonce")
    text = _ELEMENT.sub(lambda element: f"{element[1]}{_name(next(items, None))}{_SCORE.sub(_ANY_SCORE, element[3])}", text)
    text = _HANDLE.sub(r"[\1] ", text)
    if not times:
        text = _DAY.sub("## day", _TIME.sub(r"\1…", text))
    return text + "\n"


def _name(item: Chosen | None) -> str:
    """The letter of the item's short handle; else the caller's message id, or `…`. Elements stand in the order of the items."""
    if item is not None and item.handle != item.id and _SHORT.fullmatch(item.handle):
        return item.handle[0]
    return (item and item.provenance.message_id) or "…"
