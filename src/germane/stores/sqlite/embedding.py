"""Embedding: makes missing vectors: for texts stored with a slow embedder, and for all texts after a change of model.

It reads a batch, embeds it outside any transaction, and writes the vectors of the texts that still exist. It may be stopped and
started again at any point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import apsw

from germane.ports.embedder import Embedder
from germane.search.quantised import encode
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.encoding import shown
from germane.stores.sqlite.memories import MEMORY, memory_of
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.units import Domain
from germane.stores.sqlite.writer import Writer

__all__ = ["Embedding", "model_row"]

_BATCH = 256
_DOMAINS: tuple[Domain, ...] = ("events", "memories")


class _Text(NamedTuple):
    key: int
    partition: int
    revision: int
    text: str


def model_row(database: Database, writing: apsw.Connection | None, embedder: Embedder) -> int:
    """Returns the file's row id of the embedder's model, which is inserted where it is new; 0 where it is new and the file is
    read-only."""
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


class Embedding:
    """`model` is the file's row id of the embedder's model."""

    def __init__(self, embedder: Embedder, model: int, readers: Readers) -> None:
        self._embedder, self._model, self._readers = embedder, model, readers

    async def pending(self, writer: Writer, limit: int | None) -> int:
        """Embeds at most `limit` texts without a vector; returns how many."""
        done = 0
        for domain in _DOMAINS:
            after = 0
            while limit is None or done < limit:
                size = _BATCH if limit is None else min(_BATCH, limit - done)
                texts = await self._texts(domain, "vector IS NULL", after, size)
                if not texts:
                    break
                done += await self._embed(writer, domain, texts)
                after = texts[-1].key
        return done

    async def stale(self) -> int:
        """Returns the number of texts without a vector of the model in use."""

        def work(reading: Reading) -> int:
            (models,) = only(reading.connection, "SELECT count(*) FROM models")
            where = "vector IS NULL" if models == 1 and self._model else f"model IS NOT {self._model}"
            sql = "SELECT count(*) FROM units_{} WHERE {}"
            return sum(only(reading.connection, sql.format(domain, where))[0] for domain in _DOMAINS)

        return await self._readers.run(work)

    async def again(self, writer: Writer, progress: Callable[[int, int], None] | None) -> int:
        """Embeds all stale texts and removes the models without vectors; returns how many texts were embedded."""
        total, seen, done = await self.stale(), 0, 0
        for domain in _DOMAINS:
            after = 0
            while texts := await self._texts(domain, f"model IS NOT {self._model}", after, _BATCH):
                done += await self._embed(writer, domain, texts)
                seen, after = seen + len(texts), texts[-1].key
                if progress is not None:
                    progress(min(seen, total), total)
        if not await self.stale():
            await writer.run(self._sweep)
        return done

    def _sweep(self, transaction: Transaction) -> None:
        """Removes the models that have no vectors any more."""
        transaction.connection.execute("DELETE FROM models WHERE id <> ?", (self._model,))

    async def _texts(self, domain: Domain, where: str, after: int, limit: int) -> list[_Text]:
        def work(reading: Reading) -> list[_Text]:
            units = f"SELECT key, partition, revision FROM units_{domain} WHERE {where} AND key > ? ORDER BY key LIMIT ?"
            found = list(rows(reading.connection, units, (after, limit)))
            return [
                _Text(key, partition, revision, _text(reading.connection, domain, key, partition))
                for key, partition, revision in found
            ]

        return await self._readers.run(work)

    async def _embed(self, writer: Writer, domain: Domain, texts: list[_Text]) -> int:
        vectors = encode(await self._embedder.embed([text.text for text in texts]))

        def work(transaction: Transaction) -> int:
            sql = f"UPDATE units_{domain} SET vector = ?, model = ?, revision = ? WHERE key = ? AND revision = ?"
            before = transaction.connection.total_changes()
            vectored = [
                (vector, self._model, transaction.revision, text.key, text.revision)
                for text, vector in zip(texts, vectors, strict=True)
            ]
            transaction.connection.executemany(sql, vectored)
            transaction.touch({text.partition for text in texts})
            return int(transaction.connection.total_changes() - before)

        return await writer.run(work)


def _text(connection: apsw.Connection, domain: Domain, key: int, partition: int) -> str:
    if domain == "events":
        return shown(only(connection, "SELECT text FROM events WHERE key = ?", (key,))[0])
    return memory_of(only(connection, f"{MEMORY} WHERE key = ?", (key,)), {partition: None}).text
