"""The columns of a table are declared once, beside the rows of a kind: the statements and the reading of a row follow."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import apsw
import pytest

from germane.stores import sql
from germane.stores.sql.columns import (
    FLAG,
    TEXT,
    TIME,
    TUPLE,
    Codec,
    Column,
    Derived,
    Given,
    Joined,
    RowKey,
    RowOwner,
    Table,
)
from germane.stores.sql.memories.memory_rows import MEMORIES
from support.ownership import migrated

_NOW = datetime(2026, 5, 4, 12, 30, 0, 7, UTC)
_USERS = {3: "ann"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spine:
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Book:
    title: str
    user: str | None
    spine: _Spine
    tags: tuple[str, ...]
    lent: bool
    bought_at: datetime
    returned_at: datetime | None
    place: str
    shelf: str
    loans: int
    shown: str
    notes: str = ""


def _within(place: str, *, shelf: str) -> str:
    return place.removeprefix(shelf)


def _beyond(place: str, *, shelf: str) -> str:
    return shelf + place


_COLUMNS = (
    RowKey(),
    RowOwner(),
    Column("title", TEXT, fixed=True),
    Derived("initial", lambda book: book.title[0]),
    Column("spine_colour", field="spine.colour"),
    Column("tags", TUPLE),
    Column("lent", FLAG),
    Column("bought_at", TIME),
    Column("returned_at", TIME, null=True),
    Column(
        "place",
        Codec(lambda place, *, shelf: place.removeprefix(shelf), lambda text, *, shelf: shelf + text),
        beside=("shelf",),
    ),
    Column("shelf"),
    Given("loans", field="loans"),
    Joined("shown", "upper(initial)"),
)
_BOOKS = Table("books", _Book, _COLUMNS, parts={"spine": _Spine}, unstored=("notes",))
_BOOK = _Book(
    title="\ud800 Tea",
    user="ann",
    spine=_Spine(colour="red"),
    tags=("green", "black"),
    lent=True,
    bought_at=_NOW,
    returned_at=None,
    place="B4",
    shelf="B",
    loans=2,
    shown="\ud800",
)


@pytest.fixture
def shop() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE TABLE books (key INTEGER PRIMARY KEY, partition, title UNIQUE, initial, spine_colour, tags, lent, bought_at,"
        " returned_at, place, shelf, loans)"
    )
    yield connection
    connection.close()


def _tables() -> dict[str, list[Table[object]]]:
    """All tables that the modules of the SQL declare, by their names."""
    found: dict[str, list[Table[object]]] = {}
    for module in pkgutil.walk_packages(sql.__path__, f"{sql.__name__}."):
        for one in vars(importlib.import_module(module.name)).values():
            if isinstance(one, Table) and one not in found.get(one.name, ()):
                found.setdefault(one.name, []).append(one)
    return found


_TABLES = _tables()
_STORE = migrated()


@pytest.mark.parametrize("name", sorted(_TABLES))
def test_a_table_declares_all_columns_that_the_schema_has_and_no_others(name: str) -> None:
    """A column of a migration can't be forgotten in the rows, nor one of the rows in a migration."""
    declared = frozenset[str]().union(*(table.columns for table in _TABLES[name]))
    assert declared == _schema(name).keys()


@pytest.mark.parametrize("name", sorted(_TABLES))
def test_a_column_that_may_be_null_is_read_and_one_that_may_not_is_never_written_as_null(name: str) -> None:
    """The schema and the declarations agree on what may be missing."""
    required = _schema(name)
    for column in (column for table in _TABLES[name] for column in table.declared if isinstance(column, Column)):
        if column.null:
            assert not required[column.name], column
        elif not required[column.name] and column.codec.read is not None:
            column.codec.read(None, **dict.fromkeys(column.beside, "x"))


def test_the_kinds_declare_their_tables() -> None:
    """The walk over the modules finds them."""
    assert {"memories", "events", "blocks", "entities", "relations", "tasks", "injections", "keys"} <= _TABLES.keys()


def test_a_row_is_read_as_the_value_that_it_was_made_of(shop: apsw.Connection) -> None:
    """Codecs, fields within fields, and a joined expression."""
    shop.execute(_BOOKS.insert(), _BOOKS.cells(replace(_BOOK, title="Tea"), None, 3, loans=2))
    (row,) = shop.execute(f"SELECT {_BOOKS.selected('b')} FROM books b")
    assert _BOOKS.value(row, _USERS) == replace(_BOOK, title="Tea", shown="T")
    assert row[_BOOKS.place("key")] == 1


def test_text_that_utf_8_cannot_hold_is_stored_as_bytes(shop: apsw.Connection) -> None:
    """A lone surrogate is read as it was written."""
    cells = _BOOKS.cells(_BOOK, 8, 3, loans=2)
    shop.execute(_BOOKS.insert(), (*cells[:3], None, *cells[4:]))
    (row,) = shop.execute(f"SELECT {_BOOKS.selected()} FROM books")
    assert _BOOKS.value(row, _USERS).title == _BOOK.title


def test_an_expression_can_stand_in_place_of_a_column(shop: apsw.Connection) -> None:
    """The rows keep their shape."""
    shop.execute(_BOOKS.insert(), _BOOKS.cells(replace(_BOOK, title="Tea"), 8, 3, loans=2))
    columns = _BOOKS.selected("b", tags="'[]'", shown="'no'")
    (row,) = shop.execute(f"SELECT {columns}, 5 FROM books b")
    assert _BOOKS.value(row, _USERS) == replace(_BOOK, title="Tea", tags=(), shown="no")
    with pytest.raises(ValueError, match="books has no column tag"):
        _BOOKS.selected("b", tag="'[]'")


@pytest.mark.parametrize(
    ("statement", "lent"),
    [(_BOOKS.update("key"), False), (_BOOKS.upsert("key"), False), (_BOOKS.update("key", keep=("lent",)), True)],
)
def test_an_update_keeps_the_owner_and_what_is_fixed(shop: apsw.Connection, statement: str, lent: bool) -> None:
    """The same cells are bound to all statements."""
    shop.execute(_BOOKS.insert(), _BOOKS.cells(replace(_BOOK, title="Tea"), 8, 3, loans=2))
    later = replace(_BOOK, title="Coffee", tags=("black",), lent=False, returned_at=_NOW)
    shop.execute(statement, _BOOKS.cells(later, 8, 4, loans=5))
    found = shop.execute("SELECT partition, title, tags, lent, returned_at, loans FROM books").fetchall()
    assert found == [(3, "Tea", '["black"]', lent, 1_777_897_800_000_007, 5)]


def test_an_unknown_column_to_keep_is_refused() -> None:
    """A misspelt name would be updated."""
    with pytest.raises(ValueError, match="books has no column lend"):
        _BOOKS.update("key", keep=("lend",))


@pytest.mark.parametrize("lacking", ["bought_at", "spine_colour"])
def test_a_field_that_no_column_holds_is_refused(lacking: str) -> None:
    """A new field of a value can't be forgotten: the store isn't imported without a column, or a word that it has none."""
    columns = [column for column in _COLUMNS if column.name != lacking]
    with pytest.raises(TypeError, match="no column of books holds"):
        Table("books", _Book, columns, parts={"spine": _Spine}, unstored=("notes",))


def test_fields_without_a_column_are_arguments() -> None:
    """The value is made at once, as a copy of it would take longer."""
    table = Table("spines", _Spine, (), passed=("colour",))
    assert table.value((), "red") == _Spine(colour="red")


def test_the_functions_can_be_read() -> None:
    """Their text is what somebody would write by hand."""
    assert "        None if value.stale_since is None else write_stale_since(value.stale_since),\n" in MEMORIES.source
    assert "        pinned=read_pinned(row[" in MEMORIES.source


def _schema(table: str) -> dict[str, bool]:
    """The table's columns, each with whether it must have a value."""
    found = _STORE.execute(f"PRAGMA table_info({table})")
    return {name: bool(required or key) for _, name, _, required, _, key in found}
