"""Listing: prints rows of stored things: as a table where every column has room, else stacked, one thing below the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from germane.cli.screen import plain, table

__all__ = ["ListColumn", "print_fields", "print_rows"]

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
