"""Divide: the passages of a document's text, by the rule of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from germane.documents.chunk import chunks
from germane.documents.code import code_pieces
from germane.documents.logs import log_pieces
from germane.documents.markdown import markdown_pieces
from germane.documents.media import MediaFormat
from germane.documents.passage import DocumentPassage
from germane.documents.piece import Piece
from germane.documents.plain import plain_pieces, row_pieces

__all__ = ["VERSION", "divide"]

VERSION = 1
"""Rises with every change of the rules, so that documents that were divided by older ones are divided anew."""
_NUMBERED = ("code", "log", "rows", "plain")
_GLUE = {"log": "\n", "rows": "\n"}


def divide(pages: Sequence[str], format: MediaFormat, breath: Callable[[], None] = lambda: None) -> tuple[DocumentPassage, ...]:
    """Returns the passages in order, in time linear in the text. Only a PDF has several `pages`; places count in all of them,
    one after the other. HTML is given as Markdown (`read_html`)."""
    text = "\n".join(pages)
    glue, numbered = _GLUE.get(format, "\n\n"), format in _NUMBERED
    return tuple(chunks(_pieces(pages, text, format), text, glue=glue, numbered=numbered, breath=breath))


def _pieces(pages: Sequence[str], text: str, format: MediaFormat) -> Iterator[Piece]:
    match format:
        case "markdown" | "html":
            yield from markdown_pieces(text)
        case "code":
            yield from code_pieces(text)
        case "log":
            yield from log_pieces(text)
        case "rows":
            yield from row_pieces(text)
        case "plain":
            yield from plain_pieces(text)
        case "pdf":
            start = 0
            for number, page in enumerate(pages, start=1):
                yield from plain_pieces(page, start=start, page=number)
                start += len(page) + 1
