"""Keyword: speed of germane's keyword search compared with SQLite's FTS5, on the same messages and queries.

    python -m bench keyword [--sizes 10000 100000] [--queries 40]

FTS5 with the Porter stemmer answers an OR of the query's words and returns the best 200 by `bm25()`. It runs over one table of
messages, and over three tables of messages, windows (a message with its neighbours) and sessions, as a store on FTS5 would
need. `germane.search.bm25` scores all three for every row, and the best 200 of each are taken. Neither reads the texts. FTS5's
tables are contentless, in a file that the system has cached; germane's arrays are in memory. The figures are CPU time of one
thread, so that other load changes little. Both omit stop words from queries; FTS5 still counts them in lengths, so the two
agree on most of the best 200, not on all.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.corpus import conversations, queries
from bench.machine import describe as machine
from germane.search.bm25 import lexical_scores, weigh_terms
from germane.search.partition import Partition
from germane.search.snapshot import take_snapshot
from germane.search.unit import Unit, describe
from germane.stages.read.query import read
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope

__all__ = ["main"]

_BEST = 200
_TABLES = ("message", "window", "session")
_FRAME = frozenset({"say"})
_KINDS = ("rare words", "middling", "commonest words")
_NOW = datetime(2025, 6, 1, tzinfo=UTC)


def documents(size: int) -> dict[str, list[str]]:
    """The texts of each table."""
    found: dict[str, list[str]] = {name: [] for name in _TABLES}
    for _, said in conversations(size):
        texts = [message.text for message in said]
        found["message"] += texts
        found["window"] += ["\n".join(texts[max(0, place - 1) : place + 2]) for place in range(len(texts))]
        found["session"].append("\n".join(texts))
    return found


def full_text(path: Path, texts: dict[str, list[str]]) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = -200000; PRAGMA mmap_size = 2000000000").fetchall()
    connection.execute("BEGIN")
    for name, rows in texts.items():
        connection.execute(f"CREATE VIRTUAL TABLE {name} USING fts5(text, content='', tokenize='porter unicode61')")
        connection.executemany(f"INSERT INTO {name} (rowid, text) VALUES (?, ?)", enumerate(rows))
        connection.execute(f"INSERT INTO {name} ({name}) VALUES ('optimize')")
    connection.execute("COMMIT")
    return connection


def units(size: int) -> Iterator[Unit]:
    key = 0
    for session, (_, said) in enumerate(conversations(size)):
        for message in said:
            when = 0.0 if message.created_at is None else message.created_at.timestamp()
            yield describe(
                key=key,
                session=session,
                created_at=when,
                text=message.text,
                role=message.role,
                name=message.name or "",
                sensitivity="private",
                kind="event",
            )
            key += 1


def asked(count: int) -> Iterator[tuple[str, Query]]:
    """`count` queries of each kind, without the words around them, which the messages don't hold."""
    taken: dict[str, int] = defaultdict(int)
    for kind, text in queries(20 * count):
        text = text.rsplit(" in ", 1)[0]
        if kind in _KINDS and taken[kind] < count:
            taken[kind] += 1
            request = Request(scope=Scope(), messages=(), raw=(), model="gpt-4o", provider="openai", at=_NOW, query=text)
            query = read(request)
            yield kind, replace(query, terms=tuple(term for term in query.terms if term.word not in _FRAME))


def by_fts5(connection: apsw.Connection, query: Query, tables: Iterable[str]) -> list[set[int]]:
    words = " OR ".join(f'"{term.word}"' for term in query.terms)
    sql = "SELECT rowid FROM {0} WHERE {0} MATCH ? ORDER BY bm25({0}) LIMIT ?"
    return [{row[0] for row in connection.execute(sql.format(name), (words, _BEST))} for name in tables]


def by_germane(partition: Partition, query: Query) -> list[set[int]]:
    rows = partition.columns.rows
    scores = lexical_scores(weigh_terms([partition], query), take_snapshot(partition, rows))
    return [set(_top(one)) for one in (scores.own, scores.window, scores.block)]


def _top(scores: NDArray[np.float32]) -> list[int]:
    found = np.flatnonzero(scores)
    if len(found) > _BEST:
        found = found[np.argpartition(scores[found], len(found) - _BEST)[-_BEST:]]
    kept: list[int] = found[np.argsort(-scores[found])].tolist()
    return kept


def timed(work: Callable[[], list[set[int]]]) -> tuple[float, list[set[int]]]:
    began = time.thread_time()
    found = work()
    return 1000 * (time.thread_time() - began), found


def measure(size: int, count: int, folder: Path) -> None:
    texts = documents(size)
    path = folder / f"{size}.db"
    connection = full_text(path, texts)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    rows = list(units(size))
    began = time.thread_time()
    partition = Partition(0)
    partition.extend(rows)
    loaded = time.thread_time() - began
    took: dict[tuple[str, str], list[float]] = defaultdict(list)
    same: dict[str, list[float]] = defaultdict(list)
    mix = list(asked(count))
    for turn in range(2):  # the first round warms both
        for kind, query in mix:
            one, turns = timed(lambda query=query: by_fts5(connection, query, _TABLES[:1]))  # type: ignore[misc]
            three, _ = timed(lambda query=query: by_fts5(connection, query, _TABLES))  # type: ignore[misc]
            own, ours = timed(lambda query=query: by_germane(partition, query))  # type: ignore[misc]
            if turn:
                for name, spent in (("one", one), ("three", three), ("own", own)):
                    took[kind, name].append(spent)
                if turns[0]:
                    same[kind].append(len(turns[0] & ours[0]) / len(turns[0]))
    print(
        f"\n{size:,} messages: FTS5 {path.stat().st_size / 2**20:.0f} MiB in the file for the three tables; "
        f"germane {partition.nbytes / 2**20:.0f} MiB in memory without vectors, arrays made in {loaded:.2f} s"
    )
    print(f"{'median CPU ms':<17}{'FTS5, messages':>15}{'FTS5, all':>11}{'germane, all':>14}{'ratio to each':>16}{'alike':>7}")
    for kind in _KINDS:
        one, three, own = (median(took[kind, name]) for name in ("one", "three", "own"))
        ratios, alike = f"{one / own:.2f} / {three / own:.2f}", mean(same[kind])
        print(f"{kind:<17}{one:>15.2f}{three:>11.2f}{own:>14.2f}{ratios:>16}{alike:>7.0%}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench keyword", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=40, help="of each kind")
    options = parser.parse_args(arguments)
    print(f"{machine()}, SQLite {apsw.sqlite_lib_version()}")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            measure(size, options.queries, Path(folder))


if __name__ == "__main__":
    main()
