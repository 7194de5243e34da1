"""Readable: all that germane added to a request, as text that is the same wherever nothing that matters has changed.

It is what the model reads, with three kinds of words replaced that say nothing about what was chosen: the nonce; ids, by the
caller's own message id where there is one; scores, which move with every refit. Handles such as `[a3]` lose their numbers, so
that one more line doesn't change all that follow. Nothing stored can imitate what is looked for here: formats see to that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.types.candidate import Chosen
from germane.types.context import Context

__all__ = ["readable"]

_NONCE = re.compile(r'nonce="([^"\n]+)"')
_ELEMENT = re.compile(r'^(<(?:memory|message) id=")[^"\n]*(".*?) score="[\d.]+">', re.MULTILINE)
_HANDLE = re.compile(r"^\[([am])\d+\] ", re.MULTILINE)
_TIME = re.compile(r'^(<message [^>\n]*?time=")[^"\n]*', re.MULTILINE)
_DAY = re.compile(r"^## \d{4}-\d\d-\d\d", re.MULTILINE)


def readable(context: Context, *, times: bool = True) -> str:
    """Ends with a newline. Without `times`, days and times are left out too: for what is recorded as the test runs."""
    text, items = context.added, iter(context.items)
    if found := _NONCE.search(text):
        text = text.replace(found[1], "nonce")
    text = _ELEMENT.sub(lambda element: f'{element[1]}{_name(items)}{element[2]} score="…">', text)
    text = _HANDLE.sub(r"[\1] ", text)
    if not times:
        text = _DAY.sub("## day", _TIME.sub(r"\1…", text))
    return text + "\n"


def _name(items: Iterator[Chosen]) -> str:
    """The next item's: elements stand in the order of items."""
    item = next(items, None)
    return (item and item.provenance.message_id) or "…"
