"""Screen: the output of the command: tables for people, JSON for programs, progress bars on stderr."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["console", "plain", "print_json", "printable_json", "progress", "table", "told_progress"]

_CONTROL_CHARACTERS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that move the cursor, hide text or reorder it: C0 except tab and newline, DEL, C1, zero-width characters, bidi
controls, tags, surrogates. Stored text that holds them could deceive the reader of a terminal."""

_PAUSE = 5.0
"""Seconds between two lines about progress, where stderr is no terminal."""


class _Screen(Console):
    """A console that escapes control characters in everything it prints, as `plain` does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


def console(*, stderr: bool = False) -> Console:
    """A console for stdout or stderr: colours on a terminal only, 100 columns where the width is unknown, no markup."""
    return _Screen(stderr=stderr, width=get_terminal_size((100, 24)).columns, markup=False, highlight=False, emoji=False)


def plain(text: str, limit: int | None = None) -> str:
    """Returns `text`, cut at `limit` characters, with characters that could control a terminal escaped: `\\x9b`, `\\u202e`."""
    clean = _CONTROL_CHARACTERS.sub(_escape, text if limit is None else text[: limit + 1])
    return clean if limit is None or len(clean) <= limit else f"{clean[: limit - 1].rstrip()}…"


def printable_json(document: Any, indent: int | None = 2) -> str:
    """Returns JSON that stdout can encode, on an ASCII-only terminal too. Characters that could control a terminal are JSON
    escapes, so that a parser reads the same strings."""
    text = _CONTROL_CHARACTERS.sub(_json_escape, json.dumps(document, ensure_ascii=False, indent=indent))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return json.dumps(document, ensure_ascii=True, indent=indent)
    return text


def print_json(document: Any) -> None:
    """Print one JSON document to stdout."""
    print(printable_json(document))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table without borders; the columns in `right` are right-aligned and not wrapped."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    return made


def secrets_line(found: Mapping[str, int]) -> str:
    """What is said of the secrets that were found in what was stored, by kind; empty where there were none."""
    kinds = ", ".join(kind if count == 1 else f"{count} × {kind}" for kind, count in sorted(found.items()))
    total = sum(found.values())
    return f"{total} {'secret' if total == 1 else 'secrets'} found: {kinds}" if found else ""


def progress(quiet: bool) -> Progress:
    """A progress bar on stderr that is removed at the end; disabled when `quiet`, or when stderr is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    where = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=where, transient=True, disable=quiet or not where.is_terminal)


@contextmanager
def told_progress(what: str, quiet: bool, steady: Callable[[], float] = time.monotonic) -> Iterator[Callable[[int, int], None]]:
    """Yields a function of done and total that shows a progress bar on stderr from its first call on; where stderr is no
    terminal it prints a line for the first step, for the last, and every five seconds. Shows nothing when `quiet`."""
    where, printed = console(stderr=True), -_PAUSE
    bar: Progress | None = None

    def told(done: int, total: int) -> None:
        nonlocal bar, printed
        if where.is_terminal:
            if bar is None:
                bar = progress(quiet)
                bar.add_task(what, total=None)
                bar.start()
            bar.update(bar.task_ids[0], completed=done, total=total)
        elif not quiet and (done in (0, total) or steady() - printed >= _PAUSE):
            printed = steady()
            where.print(f"{what}: {done} of {total}")

    try:
        yield told
    finally:
        if bar is not None:
            bar.stop()
