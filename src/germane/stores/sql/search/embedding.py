"""Embedding: makes missing vectors: for texts stored with a slow embedder, and for all texts after a change of model.

It reads a batch, embeds it outside any transaction, and writes the vectors of the texts that still exist. It may be stopped and
started again at any point. A text that the embedder refuses while it embeds others is passed over, until the text changes, the
store is opened again, or all vectors are made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError
from germane.kinds.blocks.value import searched_text
from germane.ports.models import Embedder, dimension_if_known, embed_in_background
from germane.search.quantised import encode
from germane.search.unit import MAX_PART
from germane.stores.sql.blocks.documents import archived_by_key
from germane.stores.sql.connection import Connection, Database
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.near_duplicates import Vectored
from germane.stores.sql.search.units import UNIT_TABLES, part_text
from germane.stores.sql.statements import first, from_sql, only, rows
from germane.stores.sql.transaction import Transaction, Writer

_BATCH = 256
_BATCH_BYTES = 65_536
"""Bytes of long texts' parts in a batch at most."""
_LINKED = 64
"""Memories that get their vectors in one transaction: linking one with its near-duplicates takes the writer 0.2 ms or more."""
_PROBE_TEXT = "embedding"
"""A text that every embedder takes: where it fails too, the embedder fails, and not a text."""
_TRIES = 2
"""Times that a text is embedded alone before it counts as refused."""
_BEFORE_ALL = (0, -1)
"""Before every key and part."""
_TABLES = tuple(table for tables in UNIT_TABLES.values() for table in tables)


_Place = tuple[str, int, int, int]
"""The table, key, part and revision of a text."""


class _Text(NamedTuple):
    key: int
    part: int
    partition: int
    revision: int
    text: str


def model_row(database: Database, writing: Connection | None, embedder: Embedder) -> int:
    """Returns the file's row id of the embedder's model, which is inserted where it is new; 0 where it is new and the file is
    read-only, and while the embedder's dimension isn't known."""
    if not dimension_if_known(embedder):
        return 0
    connection = writing or database.connect(reading=True)
    try:
        sql = "SELECT id FROM models WHERE identity = ?"
        found = first(connection, sql, (embedder.identity,))
        if found is None and writing is not None:
            row = (embedder.identity, embedder.dimension)
            writing.execute("INSERT OR IGNORE INTO models (identity, dimension) VALUES (?, ?)", row)
            found = first(writing, sql, row[:1])
        return 0 if found is None else int(found[0])
    finally:
        if writing is None:
            connection.close()


async def asked_dimension(embedder: Embedder) -> int:
    """Returns the embedder's dimension, for which its endpoint is asked if need be. Raises `EmbedderError`."""
    if not dimension_if_known(embedder):
        await embedder.embed([_PROBE_TEXT])
    return embedder.dimension


class Embedding:
    """`model` is the file's row id of the embedder's model, 0 where the file has none. `breath` is called between two steps, in
    the embedder's thread where it has one, and may sleep."""

    def __init__(self, embedder: Embedder, model: int, readers: Readers, breath: Callable[[], None]) -> None:
        self._embedder, self.model, self._readers, self._breath = embedder, model, readers, breath
        self._refused = set[_Place]()

    @property
    def refused(self) -> int:
        """The texts that the embedder refuses, and that are passed over."""
        return len(self._refused)

    async def pending(self, writer: Writer, limit: int | None) -> int:
        """Embeds at most `limit` texts without a vector; returns how many. Raises `EmbedderError`."""
        done, refused = 0, set[_Place]()
        for table in _TABLES:
            after = _BEFORE_ALL
            while limit is None or done < limit:
                size = _BATCH if limit is None else min(_BATCH, limit - done)
                texts = await self._texts(table, "vector IS NULL", after, size)
                if not texts:
                    break
                done += await self._embed(writer, table, [text for text in texts if _place(table, text) not in self._refused])
                refused |= self._refused.intersection(_place(table, text) for text in texts)
                after = texts[-1][:2]
        if limit is None:  # those that were forgotten or changed meanwhile no longer count
            self._refused = refused
        return done

    async def stale(self) -> int:
        """Returns the number of texts without a vector of the model in use."""

        def work(reading: Reading) -> int:
            (models,) = only(reading.connection, "SELECT count(*) FROM models")
            where = "vector IS NULL" if models == 1 and self.model else f"model IS NOT {self.model}"
            sql = "SELECT count(*) FROM {} WHERE {}"
            return sum(only(reading.connection, sql.format(table, where))[0] for table in _TABLES)

        return await self._readers.run(work)

    async def again(self, writer: Writer, progress: Callable[[int, int], None] | None) -> int:
        """Embeds all stale texts, those that were refused too, and removes the models without vectors; returns how many texts
        were embedded. Raises `EmbedderError`."""
        total, seen, done = await self.stale(), 0, 0
        for table in _TABLES:
            after = _BEFORE_ALL
            while texts := await self._texts(table, f"model IS NOT {self.model}", after, _BATCH):
                done += await self._embed(writer, table, texts)
                seen, after = seen + len(texts), texts[-1][:2]
                if progress is not None:
                    progress(min(seen, total), total)
        if not await self.stale():
            await writer.run(self._sweep)
        return done

    def _sweep(self, transaction: Transaction) -> None:
        """Removes the models that have no vectors any more."""
        transaction.connection.execute("DELETE FROM models WHERE id <> ?", (self.model,))

    async def _texts(self, table: str, where: str, after: tuple[int, int], limit: int) -> list[_Text]:
        """The next texts after this key and part: at most `limit`, and of parts no more than a batch may hold."""
        if table == "units_parts":
            columns, following, order = "key, part, partition, revision, start, stop", "(key, part) > (?, ?)", "key, part"
            limit = min(limit, _BATCH_BYTES // MAX_PART)
        else:
            columns, following, order = "key, 0, partition, revision, 0, 0", "key > ?", "key"
            after = after[:1]  # type: ignore[assignment]
        sql = f"SELECT {columns} FROM {table} WHERE {where} AND {following} ORDER BY {order} LIMIT ?"

        def work(reading: Reading) -> list[_Text]:
            connection = reading.connection
            return [
                _Text(key, part, partition, revision, _text(connection, table, key, partition, start, stop))
                for key, part, partition, revision, start, stop in list(rows(connection, sql, (*after, limit)))
            ]

        return await self._readers.run(work)

    async def _embed(self, writer: Writer, table: str, texts: list[_Text]) -> int:
        """Writes the vectors of these texts, except of those that the embedder refuses; returns how many it wrote."""
        answers = await self._vectors([text.text for text in texts])
        embedded = [(text, vector) for text, vector in zip(texts, answers, strict=True) if vector is not None]
        self._refused.difference_update(_place(table, text) for text, _ in embedded)
        self._refused.update(_place(table, text) for text, vector in zip(texts, answers, strict=True) if vector is None)
        if not embedded:
            return 0
        part = " AND part = ?5" if table == "units_parts" else " AND ?5 = 0"

        def work(transaction: Transaction, some: Sequence[tuple[_Text, NDArray[np.float32]]]) -> int:
            sql = f"UPDATE {table} SET vector = ?1, model = ?2, revision = ?3 WHERE key = ?4{part} AND revision = ?6"
            before = transaction.connection.total_changes()
            vectors = encode(np.stack([vector for _, vector in some]))  # not on the event loop: half a millisecond
            vectored = [
                (vector, self.model, transaction.revision, text.key, text.part, text.revision)
                for (text, _), vector in zip(some, vectors, strict=True)
            ]
            transaction.connection.executemany(sql, vectored)
            transaction.touch({text.partition for text, _ in some})
            written = int(transaction.connection.total_changes() - before)
            if table == "units_memories":
                transaction.link_near(
                    Vectored(text.partition, text.key, vector) for (text, _), vector in zip(some, vectors, strict=True)
                )
            return written

        size = _LINKED if table == "units_memories" else len(embedded)
        done = 0
        for start in range(0, len(embedded), size):
            await asyncio.to_thread(self._breath)
            done += await writer.run(partial(work, some=embedded[start : start + size]))
        return done

    async def _vectors(self, texts: list[str]) -> list[NDArray[np.float32] | None]:
        """Returns a vector for each text, None for a refused one, which is found by halving. Raises `EmbedderError` where it
        isn't the texts that the embedder fails on."""
        for _ in range(_TRIES if len(texts) == 1 else min(1, len(texts))):
            try:
                return list(await embed_in_background(self._embedder, texts, self._breath))
            except EmbedderError:
                await self._embedder.embed([_PROBE_TEXT])
        if len(texts) < 2:
            return [None for _ in texts]
        middle = len(texts) // 2
        return [*await self._vectors(texts[:middle]), *await self._vectors(texts[middle:])]


def _place(table: str, text: _Text) -> _Place:
    return table, text.key, text.part, text.revision


def _text(connection: Connection, table: str, key: int, partition: int, start: int, stop: int) -> str:
    if table == "units_memories":
        return memory_of(only(connection, f"{MEMORY} WHERE key = ?", (key,)), {partition: None}).text
    if table == "units_blocks":
        found = archived_by_key(connection, (VisiblePartition(partition, None, 0),), (key,))
        return searched_text(found[key]) if key in found else ""
    if table == "units_parts":
        return part_text(connection, key, start, stop)
    return from_sql(only(connection, "SELECT text FROM events WHERE key = ?", (key,))[0])
