"""Document readers: the part of `bench/readers.py` about documents: dividing them, and saying where a passage stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bench.request_readers import taken
from germane.documents.chunk import chunks
from germane.documents.code import code_pieces
from germane.documents.decode import decoded
from germane.documents.divide import divide
from germane.documents.document import document_session
from germane.documents.html import read_html
from germane.documents.lines import line_starts, lines
from germane.documents.logs import is_log, log_pieces
from germane.documents.markdown import markdown_pieces
from germane.documents.media import MEDIA_TYPES, MediaFormat, format_of, guessed
from germane.documents.passage import DocumentPassage, body, headed, place_label
from germane.documents.piece import Piece
from germane.documents.plain import plain_pieces, row_pieces

__all__ = ["DOCUMENT_READERS"]


def _divider(format: MediaFormat) -> Callable[[str], object]:
    return lambda text: divide([text], format)


DOCUMENT_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "documents.chunk.chunks": lambda text: list(chunks([Piece(text, 0, len(text))], text, glue="\n", numbered=True)),
        "documents.code.code_pieces": lambda text: list(code_pieces(text)),
        "documents.document.document_session": taken(document_session),
        "documents.html.read_html": read_html,
        "documents.lines.line_starts": line_starts,
        "documents.lines.lines": lines,
        "documents.logs.is_log": is_log,
        "documents.logs.log_pieces": lambda text: list(log_pieces(text)),
        "documents.markdown.markdown_pieces": lambda text: list(markdown_pieces(text)),
        "documents.media.guessed": lambda text: guessed(text, text.encode("utf-8", "surrogatepass")),
        "documents.media.format_of": taken(format_of),
        "documents.decode.decoded": taken(lambda text: decoded(text.encode("utf-8", "surrogatepass"))),
        "documents.passage.body": body,
        "documents.passage.headed": lambda text: headed(DocumentPassage(text=text, path=(text,)), text),
        "documents.passage.place_label": lambda text: place_label({"title": text, "path": [text] * 9, "locator": text}),
        "documents.passage.DocumentPassage.metadata": lambda text: DocumentPassage(text=text, path=(text,)).metadata(
            text, text
        ),
        "documents.plain.plain_pieces": lambda text: list(plain_pieces(text)),
        "documents.plain.row_pieces": lambda text: list(row_pieces(text)),
        **{f"documents.divide.divide {name}": _divider(name) for name in MEDIA_TYPES},
    }
)
"""As `READERS`."""
