"""Plain: the pieces of plain text: its paragraphs; and of rows of values, whose first row is their head."""

from __future__ import annotations

from collections.abc import Iterator

from germane.documents.lines import blank_separated, lines
from germane.documents.piece import Piece

__all__ = ["plain_pieces", "row_pieces"]


def plain_pieces(text: str, *, start: int = 0, page: int = 0) -> Iterator[Piece]:
    """Yields the paragraphs. `start` is the place of the text's first character, `page` the page that it stands on."""
    for run in blank_separated(lines(text, start)):
        yield Piece("\n".join(line.text for line in run), run[0].start, run[-1].stop, page=page)


def row_pieces(text: str) -> Iterator[Piece]:
    """Yields all rows as one piece, whose parts repeat the first row."""
    if bare := text.strip("\n"):
        start = text.index(bare)
        yield Piece(bare, start, start + len(bare), lead=bare.partition("\n")[0])
