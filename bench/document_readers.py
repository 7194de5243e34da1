"""Document readers: the part of `bench/readers.py` about documents: dividing them, and saying where a passage stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from bench.request_readers import taken
from germane.kinds.documents.file_text import decode, read_html
from germane.kinds.documents.formats import (
    MEDIA_TYPES,
    MediaFormat,
    code_pieces,
    divide,
    format_of,
    guess_format,
    is_log,
    log_pieces,
    markdown_pieces,
    plain_pieces,
    row_pieces,
)
from germane.kinds.documents.value import (
    DocumentPassage,
    Piece,
    document_session,
    join_pieces,
    line_starts,
    lines,
    place_label,
    with_heading,
    without_heading,
)

__all__ = ["DOCUMENT_READERS"]


def _divider(format: MediaFormat) -> Callable[[str], object]:
    return lambda text: divide([text], format)


DOCUMENT_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "kinds.documents.value.join_pieces": lambda text: list(
            join_pieces([Piece(text, 0, len(text))], text, glue="\n", numbered=True)
        ),
        "kinds.documents.formats.code_pieces": lambda text: list(code_pieces(text)),
        "kinds.documents.value.document_session": taken(document_session),
        "kinds.documents.file_text.read_html": read_html,
        "kinds.documents.value.line_starts": line_starts,
        "kinds.documents.value.lines": lines,
        "kinds.documents.formats.is_log": is_log,
        "kinds.documents.formats.log_pieces": lambda text: list(log_pieces(text)),
        "kinds.documents.formats.markdown_pieces": lambda text: list(markdown_pieces(text)),
        "kinds.documents.formats.guess_format": lambda text: guess_format(text, text.encode("utf-8", "surrogatepass")),
        "kinds.documents.formats.format_of": taken(format_of),
        "kinds.documents.file_text.decode": taken(lambda text: decode(text.encode("utf-8", "surrogatepass"))),
        "kinds.documents.value.without_heading": without_heading,
        "kinds.documents.value.with_heading": lambda text: with_heading(DocumentPassage(text=text, path=(text,)), text),
        "kinds.documents.value.place_label": lambda text: place_label({"title": text, "path": [text] * 9, "locator": text}),
        "kinds.documents.value.DocumentPassage.metadata": lambda text: DocumentPassage(text=text, path=(text,)).metadata(
            text, text
        ),
        "kinds.documents.formats.plain_pieces": lambda text: list(plain_pieces(text)),
        "kinds.documents.formats.row_pieces": lambda text: list(row_pieces(text)),
        **{f"kinds.documents.formats.divide {name}": _divider(name) for name in MEDIA_TYPES},
    }
)
"""As `READERS`."""
