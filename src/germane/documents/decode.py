"""Decode: the text of a file, whose encoding is found by its bytes."""

from __future__ import annotations

import codecs

from germane.errors import InvalidInput

__all__ = ["decoded"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY = "is a binary file, no text: convert it to text, Markdown, HTML or PDF first"
_LOOKED_AT = 65_536
_CONTROLS = bytes({*range(32)} - {9, 10, 12, 13, 27})
_MOST_CONTROLS = 0.01


def decoded(data: bytes) -> str:
    """Returns the text with line feeds at the ends of its lines: by its byte order mark, else as UTF-8, else as Latin-1. Raises
    `InvalidInput` for what isn't text."""
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if encoding is not None:
            raise InvalidInput("begins as UTF-8, UTF-16 or UTF-32 text and isn't: save it as UTF-8") from None
        text = data.decode("latin-1")
    beginning = data[:_LOOKED_AT]
    if encoding is None and (
        b"\0" in data or len(beginning.translate(None, _CONTROLS)) < len(beginning) * (1 - _MOST_CONTROLS)
    ):
        raise InvalidInput(_BINARY)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").replace("\f", "\n\n")
