"""PDF: the text of a PDF's pages, one after the other, with pypdf (extra `documents`)."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from typing import Any

from germane.errors import InvalidInput, MissingExtra

__all__ = ["PdfPages"]

_HYPHENATED = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_DAMAGED = "isn't a PDF that can be read, or it is damaged: open it and save it anew, or convert it to text"
_EMPTY_PASSWORD = ""


class PdfPages:
    """The pages of a PDF. Reading one takes from a millisecond to some seconds, so callers read them one by one."""

    def __init__(self, data: bytes) -> None:
        """Raises `InvalidInput` for what can't be read: damaged, or encrypted with a password. Raises `MissingExtra`."""
        try:
            import pypdf
        except ModuleNotFoundError:
            raise MissingExtra("documents", "pypdf") from None
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        try:
            reader = pypdf.PdfReader(BytesIO(data), strict=False)
            locked = reader.is_encrypted and not reader.decrypt(_EMPTY_PASSWORD)
        except MemoryError:
            raise
        except Exception as error:  # a damaged file raises anything
            raise InvalidInput(_ENCRYPTED if "crypto" in str(error).lower() else _DAMAGED) from None
        if locked:
            raise InvalidInput(_ENCRYPTED)
        try:
            self._pages: Any = reader.pages
            self._count = len(self._pages)
        except Exception:
            raise InvalidInput(_DAMAGED) from None

    def __len__(self) -> int:
        return self._count

    def text(self, index: int) -> str:
        """Returns the text of a page, counted from 0; empty where it has none or can't be read."""
        try:
            text = self._pages[index].extract_text() or ""
        except MemoryError:
            raise
        except Exception:  # one damaged page doesn't cost the others
            return ""
        return _HYPHENATED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


_ENCRYPTED = "is encrypted with a password: save a copy without one"
