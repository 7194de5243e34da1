"""Screen: where answers go. Tables for people, one JSON document for programs; progress on stderr, and only for people."""

from __future__ import annotations

import json
import re
import sys
from shutil import get_terminal_size
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

__all__ = ["answer", "console", "dumped", "plain", "progress", "table"]

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\ud800-\udfff]"
)


class _Screen(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(*, stderr: bool = False) -> Console:
    """Colours on a terminal only; 100 columns where the width isn't known. Nothing printed is read as markup."""
    return _Screen(stderr=stderr, width=get_terminal_size((100, 24)).columns, markup=False, highlight=False, emoji=False)


def plain(text: str, limit: int | None = None) -> str:
    """Stored text as a terminal may show it: nothing that moves the cursor, hides or reorders; cut at `limit` characters."""
    clean = _UNSEEN.sub("\ufffd", text)
    return clean if limit is None or len(clean) <= limit else f"{clean[: limit - 1].rstrip()}…"


def dumped(document: Any, indent: int | None = 2) -> str:
    """JSON that can be written as UTF-8 whatever the strings hold, on ASCII-only terminals too."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
        text.encode("utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(document, ensure_ascii=True, indent=indent)
    return text


def answer(document: Any) -> None:
    """One JSON document on stdout."""
    print(dumped(document))


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
