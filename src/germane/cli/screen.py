"""Screen: where answers go. Tables for people, one JSON document for programs; progress on stderr, and only for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from shutil import get_terminal_size
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table

__all__ = ["answer", "console", "dumped", "plain", "progress", "table"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""What moves the cursor, hides or reorders: C0 but tab and newline, DEL, C1, zero width, bidi controls, tags, surrogates."""


class _Screen(Console):
    """Whatever is printed, of stored text too, is shown as `plain` shows it."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """Colours on a terminal only; 100 columns where the width isn't known. Nothing printed is read as markup."""
    return _Screen(stderr=stderr, width=get_terminal_size((100, 24)).columns, markup=False, highlight=False, emoji=False)


def plain(text: str, limit: int | None = None) -> str:
    """Stored text as a terminal may show it, cut at `limit` characters. What moves the cursor, hides or reorders is written as
    an escape: `\\x9b`, `\\u202e`."""
    clean = _UNSEEN.sub(_escaped, text if limit is None else text[: limit + 1])
    return clean if limit is None or len(clean) <= limit else f"{clean[: limit - 1].rstrip()}…"


def dumped(document: Any, indent: int | None = 2) -> str:
    """JSON that can be written as UTF-8 whatever the strings hold, on ASCII-only terminals too. Within its strings a terminal
    finds nothing that moves the cursor, hides or reorders: that is escaped, which whoever reads the JSON doesn't notice."""
    text = _UNSEEN.sub(_escaped_in_json, json.dumps(document, ensure_ascii=False, indent=indent))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(document, ensure_ascii=True, indent=indent)
    return text


def answer(document: Any) -> None:
    """One JSON document on stdout."""
    print(dumped(document))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escaped_in_json(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else "\\u007f"


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table in the house's look; `right` are the columns of numbers."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    return made


def progress(quiet: bool) -> Progress:
    """A progress bar on stderr that goes away when done; invisible when `quiet` or not on a terminal."""
    where = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=where, transient=True, disable=quiet or not where.is_terminal)
