"""Piece: a stretch of a document that belongs together, such as a paragraph, a table or a function."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Piece"]


class Piece(NamedTuple):
    """Characters `start` to `stop` of the document's text. `text` is what they say; it differs where repetition was counted.
    `path` is what the piece stands under (headings, classes), `lead` is a line that is repeated where the piece has to be
    divided (the head of a table), `page` counts from 1 where the document has pages. `loose` says that pieces with other paths
    may stand beside this one in a passage."""

    text: str
    start: int
    stop: int
    path: tuple[str, ...] = ()
    lead: str = ""
    page: int = 0
    loose: bool = False
