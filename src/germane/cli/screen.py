"""Screen: the output of the command: tables for people, JSON for programs, progress bars on stderr, and exit codes.

A list of stored things is a table where every column has room, else stacked, one thing below the other.
"""

from __future__ import annotations

import errno
import json
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from shutil import get_terminal_size
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from germane.errors import GermaneError, InvalidInput, StoreError

if TYPE_CHECKING:
    from rich.progress import Progress


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


# Rows of stored things.


_TEXT_WIDTH = 24
"""Columns of the terminal that the last column of a table has at least."""
_SPACE = 2
_WORDS = 3
"""First words of a value that aren't broken: an id is one."""
_SINGULAR = MappingProxyType(
    {"memories": "memory", "messages": "message", "sessions": "session", "users": "user", "agents": "agent"}
)
_ID_LENGTHS = (13, 18, 23)
"""Where an id is cut: at its hyphens. The first 13 characters are its time to the millisecond."""


@dataclass(frozen=True, slots=True)
class ListColumn:
    """`id`: ids, of which the first characters are shown where the whole has no room. `number`: a count, which stands right in
    a table, and before the column's name when stacked. `named`: a value, such as a date, that stands behind the column's name
    when stacked."""

    name: str
    id: bool = False
    number: bool = False
    named: bool = False


def print_rows(screen: Console, columns: Sequence[ListColumn], rows: Sequence[Sequence[str]]) -> None:
    """Print the rows, nothing where there is none. The first column names the thing; the last one may wrap, the others not."""
    if not rows:
        return
    short = [_shortened(columns, rows)] if any(column.id for column in columns) else []
    for candidate in (rows, *short):
        if _table_width(columns, candidate) <= screen.width:
            _print_table(screen, columns, candidate)
            return
    for row in rows:
        named = list(zip(columns, row, strict=True))
        middle = [_stacked(column, cell) for column, cell in named[1:] if cell]
        last = [] if columns[-1].number else [middle.pop()] if row[-1] else []
        screen.print(Text(plain(row[0]), style="bold"), soft_wrap=True)
        for line in (" · ".join(middle), *last):
            if line:
                screen.print(Padding(Text(plain(line)), (0, 0, 0, 2)))


def print_hints(screen: Console, hints: Iterable[str]) -> None:
    """Print hints; a command among them isn't broken into lines, so that it can be copied."""
    for line in hints:
        screen.print(line, soft_wrap=True)


def print_listing(
    as_json: bool,
    document: Any,
    columns: Sequence[ListColumn],
    rows: Sequence[Sequence[str]],
    *,
    cursor: str | None = None,
    backwards: bool = False,
    hints: Iterable[str] = (),
) -> None:
    """Print a page of stored things: the document where JSON is wanted, else the rows, how to see the next page, and hints. The
    next page stands before the rows where the listing goes `backwards` in time."""
    if as_json:
        print_json(document)
        return
    screen = console()
    if cursor and backwards:
        screen.print(f"… earlier ones: add --cursor {cursor}", soft_wrap=True)
    print_rows(screen, columns, rows)
    if cursor and not backwards:
        screen.print(f"… and more: add --cursor {cursor}", soft_wrap=True)
    print_hints(screen, hints)


def print_done(
    as_json: bool, document: Any, line: str, *, secrets: Mapping[str, int] | None = None, whole: bool = False
) -> None:
    """Print what was done: the document where JSON is wanted, else a line, and one about secrets that were found. A `whole`
    line isn't broken, so that an id in it can be copied."""
    if as_json:
        print_json(document)
        return
    console().print(line, soft_wrap=whole)
    if secrets:
        console().print(secrets_line(secrets))


def print_fields(screen: Console, fields: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns; values wrap. Fields without a value are left out."""
    known = [(name, value) for name, value in fields if value]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        room = screen.width - width - _SPACE
        if room >= max(_TEXT_WIDTH, *(cell_len(word) for word in value.split()[:_WORDS])):
            indented = Text(plain(value)).wrap(screen, room)
            for index, line in enumerate(indented):
                screen.print(Text(f"{name if not index else '':<{width}}  ", style="dim").append_text(line), soft_wrap=True)
        else:
            screen.print(Text(name, style="dim"))
            screen.print(Padding(Text(plain(value)), (0, 0, 0, 2)))


def _stacked(column: ListColumn, cell: str) -> str:
    if column.named:
        return f"{column.name} {cell}"
    if not column.number:
        return cell
    return f"1 {_SINGULAR.get(column.name, column.name)}" if cell == "1" else f"{cell} {column.name}"


def _print_table(screen: Console, columns: Sequence[ListColumn], rows: Sequence[Sequence[str]]) -> None:
    fixed = tuple(column.name for column in columns if column.number)
    made = table(*(column.name for column in columns), right=fixed)
    for column in made.columns[:-1]:
        column.no_wrap = True
    for row in rows:
        made.add_row(*(Text(plain(cell)) for cell in row))
    screen.print(made)


def _table_width(columns: Sequence[ListColumn], rows: Sequence[Sequence[str]]) -> int:
    """The least width of a table in which no column but the last is cut, and the last one keeps some room."""
    widths = [max([cell_len(column.name), *(cell_len(row[index]) for row in rows)]) for index, column in enumerate(columns)]
    return sum(widths[:-1]) + _SPACE * len(widths[:-1]) + min(widths[-1], _TEXT_WIDTH)


def _shortened(columns: Sequence[ListColumn], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows with the first characters of their ids, as many as tell the ids of these rows apart."""
    ids = {cell for row in rows for column, cell in zip(columns, row, strict=True) if column.id and cell}
    length = next((size for size in _ID_LENGTHS if len({id[:size] for id in ids}) == len(ids)), None)
    return [[cell[:length] if column.id else cell for column, cell in zip(columns, row, strict=True)] for row in rows]


# The exit codes, and the exit code and one-line message of an exception.


class Exit(IntEnum):
    """FAILED also means not found or declined. USAGE: wrong usage or bad input. STORE: the database is missing, damaged,
    read-only, full or written by a newer version. PIPE: the reader of the output went away."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130
    PIPE = 141


def describe_exit(error: BaseException) -> tuple[Exit, str]:
    """Returns the exit code for `error` and the message to print: one line, no traceback, empty for a broken pipe."""
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED, "interrupted"
        case BrokenPipeError():
            return Exit.PIPE, ""
        case StoreError():
            return Exit.STORE, _one_line(error)
        case InvalidInput():
            return Exit.USAGE, _one_line(error)
        case GermaneError():
            return Exit.FAILED, _one_line(error)
        case MemoryError():
            return Exit.FAILED, "out of memory (import in smaller files)"
        case OSError():
            return Exit.FAILED, _system_error(error)
    return Exit.FAILED, f"{type(error).__name__} in {_place(error)}: a fault of germane's own (please report it)"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _system_error(error: OSError) -> str:
    advice = {errno.ENOSPC: "no space left (free some, or write elsewhere)", errno.EACCES: "permission denied"}
    reason = advice.get(error.errno or 0, error.strerror or str(error))
    return f"{error.filename}: {reason}" if error.filename else str(reason)


def _place(error: BaseException) -> str:
    """File and line that raised `error`, without any content: a bug report must not hold what is stored."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
