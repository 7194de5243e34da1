"""File text: the text of a file: decoded by its bytes, the main text of an HTML page as Markdown, or a PDF's pages.

The HTML reader takes one way through the page, as browsers do: a tag that is never closed ends with the page. The parser of
the standard library starts over at such a tag, and takes quadratic time for a page of them. PDF pages are read with pypdf
(extra `documents`), which is imported when the first one is opened.
"""

from __future__ import annotations

import codecs
import logging
import re
from html import unescape
from io import BytesIO
from typing import Any, NamedTuple

from germane.errors import InvalidInput, MissingExtra

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY = "is a binary file, no text: convert it to text, Markdown, HTML or PDF first"
_LOOKED_AT = 65_536
_CONTROLS = bytes({*range(32)} - {9, 10, 12, 13, 27})
_MAX_CONTROLS = 0.01


def decode(data: bytes) -> str:
    """Returns the text with line feeds at the ends of its lines: by its byte order mark, else as UTF-8, else as Latin-1. Raises
    `InvalidInput` for what isn't text."""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError:
        if encoding is not None:
            raise InvalidInput("begins as UTF-8, UTF-16 or UTF-32 text and isn't: save it as UTF-8") from None
        text = data.decode("latin-1")
    beginning = data[:_LOOKED_AT]
    if encoding is None and (b"\0" in data or len(beginning.translate(None, _CONTROLS)) < len(beginning) * (1 - _MAX_CONTROLS)):
        raise InvalidInput(_BINARY)
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd").replace("\f", "\n\n")


# HTML becomes Markdown, so that headings, lists, tables and code keep their structure.


_SKIPPED_NAMES = "script style noscript template svg math nav aside footer button select textarea iframe object canvas dialog"
_BLOCK_NAMES = """p div section article main header figure figcaption blockquote ul ol dl dt dd table thead tbody tfoot address
details summary hr fieldset body html caption"""
_SKIPPED_ELEMENTS = frozenset(_SKIPPED_NAMES.split())
"""Elements whose text isn't the page's."""
_RAW_ELEMENTS = frozenset({"script", "style", "textarea", "title", "iframe", "noscript"})
"""Elements in which nothing is a tag but their own end."""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_MAIN = frozenset({"main", "article"})
_RAW_END = re.compile(r"</(script|style|textarea|title|iframe|noscript)\b", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9:-]{0,40})")
_ENTITY = re.compile(r"&#?[A-Za-z0-9]{1,32};?")
_SPACES = re.compile(r"[ \t\n\r\f\xa0]++")
_MANY_LINES = re.compile(r"\n{3,}+")
_MIN_MAIN = 200
"""Characters that the main element must hold to count as the page's text."""


class WebPage(NamedTuple):
    """The title of a page, empty where it has none, and its main text as Markdown."""

    title: str
    text: str


def read_html(page: str) -> WebPage:
    """Returns title and main text, in time linear in the page. Scripts, styles and navigation are left out; where the
    page has a `main` or `article` element of some length, so is everything outside it."""
    reader = _PageReader(page)
    reader.read()
    main = _tidy("".join(reader.main))
    text = main if len(main) >= _MIN_MAIN else _tidy("".join(reader.out))
    return WebPage(_SPACES.sub(" ", reader.title).strip()[:200], text)


def _tidy(text: str) -> str:
    kept, fenced = list[str](), False
    for line in text.split("\n"):
        if line.strip() == "```":
            fenced = not fenced
        kept.append(line.rstrip() if fenced else line.strip())
    return _MANY_LINES.sub("\n\n", "\n".join(kept)).strip()


class _PageReader:
    """One way through a page. `out` collects all text, `main` that of the main elements."""

    def __init__(self, page: str) -> None:
        self._page = page
        self.title = ""
        self.out: list[str] = []
        self.main: list[str] = []
        self._skipping: list[str] = []
        self._in_main = self._in_pre = 0
        self._cells = 0
        self._rows = 0
        self._gone: dict[str, int] = {}

    def read(self) -> None:
        page, at = self._page, 0
        while (found := page.find("<", at)) >= 0:
            self._text(page[at:found])
            at = self._markup(found)
        self._text(page[at:])

    def _markup(self, at: int) -> int:
        """Reads what stands at a bracket, and returns the place behind it."""
        page = self._page
        if page.startswith("<!--", at):
            return self._behind("-->", at + 4)
        tag = _TAG.match(page, at)
        if tag is None:
            if page[at + 1 : at + 2] in ("!", "?", "/"):
                return self._behind(">", at + 1)
            self._text("<")
            return at + 1
        name, closing = tag[2].lower(), bool(tag[1])
        end = self._tag_end(tag.end())
        single = page[end - 2 : end] == "/>"
        if not closing and name in _RAW_ELEMENTS and not single:
            stop = self._closing(name, end)
            if name == "title" and not self.title and "svg" not in self._skipping:
                self.title = _unescaped(page[end : min(stop, end + 2_000)])
            return self._behind(">", stop)
        if name in _SKIPPED_ELEMENTS:
            self._skip(name, closing, single)
        elif not self._skipping:
            self._element(name, closing)
        return end

    def _skip(self, name: str, closing: bool, single: bool) -> None:
        if closing:
            if name in self._skipping[-64:]:
                while self._skipping.pop() != name:
                    pass
        elif not single and len(self._skipping) < 64:
            self._skipping.append(name)

    def _element(self, name: str, closing: bool) -> None:
        if name in _MAIN:
            self._in_main = max(0, self._in_main - 1) if closing else self._in_main + 1
        if name in _HEADINGS:
            self._put("\n\n" if closing else f"\n\n{_HEADINGS[name]} ")
        elif name == "pre":
            self._preformatted(closing)
        elif name == "li":
            self._put("" if closing else "\n- ")
        elif name == "br":
            self._put("\n")
        elif name == "table":
            self._end_row()
            self._put("\n\n")
            self._rows = 0
        elif name == "tr":
            self._end_row()
            self._put("\n")
        elif name in ("td", "th") and not closing:
            self._put(" | " if self._cells else "| ")
            self._cells += 1
        elif name in _BLOCKS and not (self._cells and name in ("p", "div")):
            self._put("\n\n")

    def _preformatted(self, closing: bool) -> None:
        if closing and self._in_pre:
            self._put("```\n\n" if self.out[-1].endswith("\n") else "\n```\n\n")
        elif not closing and not self._in_pre:
            self._put("\n\n```\n")
        self._in_pre = 0 if closing else 1

    def _end_row(self) -> None:
        """Ends a row of cells. Behind the first row of a table stands the line that makes it the head."""
        if self._cells:
            self._put(" |")
            if not self._rows:
                self._put(f"\n|{' --- |' * min(self._cells, 100)}")
            self._rows += 1
        self._cells = 0

    def _text(self, text: str) -> None:
        if not text or self._skipping:
            return
        plain = _unescaped(text)
        if self._in_pre:
            self._put(plain.replace("```", "'''"))
        else:
            self._put(_SPACES.sub(" ", plain))

    def _put(self, text: str) -> None:
        self.out.append(text)
        if self._in_main:
            self.main.append(text)

    def _tag_end(self, at: int) -> int:
        """The place behind the end of a tag, whose attributes begin at `at`."""
        page = self._page
        while at < len(page):
            char = page[at]
            if char == ">":
                return at + 1
            if char in "\"'" and page[at - 1] in "= \t\n\r\f":
                at = self._behind(char, at + 1)
                continue
            at += 1
        return len(page)

    def _behind(self, mark: str, at: int) -> int:
        """The place behind the next `mark`; the page's end where there is none."""
        if at >= self._gone.get(mark, len(self._page) + 1):
            return len(self._page)
        found = self._page.find(mark, at)
        if found < 0:
            self._gone[mark] = at
            return len(self._page)
        return found + len(mark)

    def _closing(self, name: str, at: int) -> int:
        """The place of the end tag of a raw element; the page's end where there is none."""
        for found in _RAW_END.finditer(self._page, at):
            if found[1].lower() == name:
                return found.start()
        return len(self._page)


def _unescaped(text: str) -> str:
    return _ENTITY.sub(lambda found: unescape(found[0]), text) if "&" in text else text


# PDF: one page after the other.


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
