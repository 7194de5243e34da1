"""Units: the search rows (terms, vector, times), which are derived from each stored text, and the parts of long texts.

A whole text has its row in the table of its domain, `units_events`, `units_memories` or `units_blocks`; the parts of a long
message have theirs in `units_parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from germane.search.unit import MAX_PART, Unit
from germane.stores.sql.connection import Connection
from germane.stores.sql.statements import first
from germane.types.candidate import PassageRange

Domain = Literal["events", "memories", "blocks"]
"""What is searched apart: messages, memories, and the archive (its entries, and archival blocks)."""
UNIT_TABLES: dict[Domain, tuple[str, ...]] = {
    "events": ("units_events", "units_parts"),
    "memories": ("units_memories",),
    "blocks": ("units_blocks",),
}
"""The tables that hold the units of a domain."""
_COLUMNS = (
    "partition, revision, model, vector, key, session, created_at, terms, flags, speaker, sensitivity, kind, valid_from,"
    " valid_to, words, tokens"
)
_INSERT = f"INSERT OR REPLACE INTO units_{{}} ({_COLUMNS}) VALUES ({', '.join('?' * 16)})"
_INSERT_PART = f"INSERT OR REPLACE INTO units_parts ({_COLUMNS}, part, start, stop) VALUES ({', '.join('?' * 19)})"
_CHANGED = (
    "SELECT key, session, created_at, terms, CASE WHEN model = ?1 THEN vector END, flags, speaker, sensitivity, kind,"
    " valid_from, valid_to, words, {}, tokens FROM {} WHERE partition = ?2 AND revision > ?3"
)
_MAX_COUNTED = 8_192
"""Characters whose tokens are counted: a longer text is shown in part at most."""
_PLACES = {"units_parts": "part, start, stop"}


class Pending(NamedTuple):
    """A unit that waits to be written, with the text, or the part of a long one, that its vector is made from."""

    domain: Domain
    partition: int
    unit: Unit
    text: str


def insert_units(
    connection: Connection,
    pending: Sequence[Pending],
    vectors: Sequence[bytes | None],
    *,
    revision: int,
    model: int,
    count: Callable[[str], int] | None,
) -> None:
    """Writes search rows with these vectors; `count` counts the tokens of their texts, where somebody does."""
    whole: dict[Domain, list[tuple[Any, ...]]] = {"events": [], "memories": [], "blocks": []}
    divided: list[tuple[Any, ...]] = []
    for entry, vector in zip(pending, vectors, strict=True):
        unit = entry.unit
        tokens = 0 if count is None else count(entry.text[:_MAX_COUNTED])
        row = (entry.partition, revision, None if vector is None else model, vector, *unit[:4], *unit[5:12], tokens)
        if unit.stop:
            divided.append((*row, unit.part, unit.start, unit.stop))
        else:
            whole[entry.domain].append(row)
    for domain, rows in whole.items():
        if rows:
            connection.executemany(_INSERT.format(domain), rows)
    if divided:
        connection.executemany(_INSERT_PART, divided)


def delete_units(connection: Connection, domain: Domain, keys: Iterable[int]) -> None:
    bound = [(key,) for key in keys]
    for table in UNIT_TABLES[domain]:
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", bound)


def changed_units(connection: Connection, domain: Domain, partition: int, since: int, model: int) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of units newer than revision `since`, in the order of `Unit`'s fields; vectors of other models are
    None."""
    selects = (_CHANGED.format(_PLACES.get(table, "0, 0, 0"), table) for table in UNIT_TABLES[domain])
    return connection.execute(" UNION ALL ".join(selects), (model, partition, since))


def forgotten_keys(connection: Connection, domain: Domain, partition: int, since: int) -> list[int]:
    """Returns the keys that were forgotten after revision `since`."""
    sql = "SELECT key FROM tombstones WHERE partition = ? AND what = ? AND revision > ?"
    return [key for (key,) in connection.execute(sql, (partition, domain, since))]


def many_changed(connection: Connection, domain: Domain, partition: int, since: int, count: int) -> bool:
    """Whether more than `count` units of one table changed after revision `since`."""
    sql = "SELECT 1 FROM {} WHERE partition = ? AND revision > ? LIMIT 1 OFFSET ?"
    bound = (partition, since, count)
    return any(connection.execute(sql.format(table), bound).fetchone() is not None for table in UNIT_TABLES[domain])


# Passages: one part of a long stored text, read without reading the rest from the file.


_OVERLAP = 256
"""Bytes that a passage reaches into the parts beside it: what is said across a border is shown whole."""
_ELLIPSIS = "…"
_FIRST_PART_STOP = "SELECT stop FROM units_parts WHERE key = ? AND part = 0"


class Passage(NamedTuple):
    text: str
    passage: PassageRange


def passage(connection: Connection, key: int, size: int, place: tuple[int, int] | None = None) -> Passage:
    """Returns the part at `place` (first byte and end) of the text of event `key`, which has `size` bytes; by default the first
    part. It begins and ends with a word where it can. An ellipsis marks where the text was cut."""
    start, stop = place or (0, 0)
    if not stop:
        indexed = first(connection, _FIRST_PART_STOP, (key,))
        start, stop = 0, (indexed[0] if indexed else 0) or min(size, MAX_PART)
    begin, end = max(0, start - _OVERLAP), min(size, stop + _OVERLAP)
    data = text_bytes(connection, key, begin, end)
    low = _border(data, range(start - begin)) if begin else 0
    high = _border(data, range(len(data) - 1, stop - begin - 1, -1)) if end < size else len(data)
    text = data[low:high].decode("utf-8", "surrogatepass")
    shown = f"{_ELLIPSIS * (begin + low > 0)}{text}{_ELLIPSIS * (begin + high < size)}"
    return Passage(shown, PassageRange(begin + low, begin + high, size, found=place is not None and place[1] > 0))


def part_text(connection: Connection, key: int, start: int, stop: int) -> str:
    """Returns these bytes of the text of event `key`; no character may begin before `start` or end behind `stop`."""
    return text_bytes(connection, key, start, stop).decode("utf-8", "surrogatepass")


def text_bytes(connection: Connection, key: int, start: int, stop: int) -> bytes:
    """Returns the bytes of the text of event `key` from `start` to `stop`."""
    with connection.blob_open("main", "events", "text", key, False) as blob:
        blob.seek(start)
        data: bytes = blob.read(stop - start)
    return data


def _border(data: bytes, places: range) -> int:
    """Returns the first of these places that follows a space or a line's end; else the last place where no character is torn,
    which is the border of the part itself."""
    for place in places:
        if place and data[place - 1 : place] in (b" ", b"\n"):
            return place
    border = places.stop if places.step > 0 else places.stop + 1
    while border < len(data) and data[border] & 0xC0 == 0x80:
        border -= 1
    return border


def terms_of(connection: Connection, table: str, key: int) -> list[bytes]:
    """Returns the terms of the search rows in this table of the thing with this row key, in the order of its parts."""
    order = " ORDER BY part" if table in _PLACES else ""
    return [terms for (terms,) in connection.execute(f"SELECT terms FROM {table} WHERE key = ?{order}", (key,))]
