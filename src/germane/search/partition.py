"""Partition: what one user's (or an agent's shared) units look like to a search. Arrays in memory, made from stored rows.

Rows are in order of arrival; `before` and `after` link each to its neighbours in its session by time, so a message that
arrives late takes its place by re-linking, and windows and sessions need no index of their own. Adding and dropping take
a lock; searching takes none: it reads the rows there were when it began.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns
from germane.search.postings import Postings
from germane.search.unit import ASSISTANT, Unit

__all__ = ["BLOCK", "Partition"]

BLOCK = 40
"""Longest stretch of a session that counts as one document."""

_COLUMNS = {
    "key": (np.int64, ()),
    "session": (np.int32, ()),
    "created_at": (np.float64, ()),
    "flags": (np.uint16, ()),
    "speaker": (np.uint32, ()),
    "sensitivity": (np.int8, ()),
    "kind": (np.int8, ()),
    "valid_from": (np.float64, ()),
    "valid_to": (np.float64, ()),
    "words": (np.int32, ()),
    "length": (np.float32, ()),
    "offset": (np.int64, ()),
    "before": (np.int32, ()),
    "after": (np.int32, ()),
    "position": (np.int32, ()),
    "block": (np.int32, ()),
    "alive": (np.bool_, ()),
}


class Partition:
    """`revision` is the store's: what of it these arrays reflect."""

    def __init__(self, dimension: int) -> None:
        self.revision = 0
        self.columns = Columns({**_COLUMNS, "vector": (np.float32, (dimension,)), "norm": (np.float32, ())})
        self.terms = Columns({"term": (np.uint32, ())})
        self.postings = Postings()
        self.blocks = 0
        self.assisted: set[int] = set()
        """Sessions with an assistant in them, by local number."""
        self.dead = 0
        self._dimension = dimension
        self._sessions: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._block: dict[tuple[int, int], int] = {}
        self._highest = -1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self.columns.rows - self.dead

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes + self.terms.nbytes + self.postings.nbytes + 200 * len(self._sessions)

    def extend(self, units: Sequence[Unit] | Sequence[tuple[Any, ...]]) -> None:
        """Add units in any order of time; one whose key is known takes the old one's place."""
        if not units:
            return
        with self._lock:
            fields = dict(zip(Unit._fields, zip(*units, strict=True), strict=True))
            keys = np.array(fields["key"], np.int64)
            if keys.min() <= self._highest:
                self._kill(keys)
            self._highest = max(self._highest, int(keys.max()))
            self._append(len(units), keys, fields)

    def drop(self, keys: Iterable[int]) -> None:
        """These are found no more."""
        with self._lock:
            self._kill(np.fromiter(keys, np.int64))

    def _kill(self, keys: NDArray[np.int64]) -> None:
        rows = self.columns.rows
        gone = np.flatnonzero(np.isin(self.columns["key"][:rows], keys) & self.columns["alive"][:rows])
        self.columns["alive"][gone] = False
        self.columns["vector"][gone] = 0
        self.dead += len(gone)

    def _append(self, count: int, keys: NDArray[np.int64], fields: dict[str, Any]) -> None:
        first = self.columns.rows
        rows = np.arange(first, first + count, dtype=np.int32)
        lengths = np.fromiter(map(len, fields["terms"]), np.int64, count) // 4
        terms = np.frombuffer(b"".join(fields["terms"]), "<u4")
        empty = np.zeros(count, np.int32)
        values: dict[str, NDArray[Any]] = {
            name: np.array(fields[name], dtype)
            for name, (dtype, _) in _COLUMNS.items()
            if name in fields and name not in ("key", "session")
        }
        values |= {"key": keys, "session": self._locals(fields["session"]), "length": lengths.astype(np.float32)}
        values |= {"offset": self.terms.rows + np.cumsum(lengths) - lengths, "alive": np.ones(count, np.bool_)}
        values |= {"vector": _vectors(fields["vector"], self._dimension), "norm": np.ones(count, np.float32)}
        values |= {"before": empty - 1, "after": empty - 1, "position": empty, "block": empty}
        self.terms.append(len(terms), {"term": terms})
        self.columns.append(count, values)
        flagged = values["session"][(values["flags"] & ASSISTANT) > 0]
        self.assisted.update(np.unique(flagged).tolist())
        touched = self._link(rows)
        self._measure(touched)
        self.postings.add(np.repeat(rows, lengths), terms)

    def _locals(self, sessions: Sequence[int]) -> NDArray[np.int32]:
        known = self._sessions
        return np.fromiter((known.setdefault(session, len(known)) for session in sessions), np.int32, len(sessions))

    def _link(self, rows: NDArray[np.int32]) -> NDArray[np.int32]:
        """Put rows in their places; answers which rows now have another window."""
        columns = self.columns
        session, created, before, after = (columns[name] for name in ("session", "created_at", "before", "after"))
        order = rows[np.lexsort((columns["key"][rows], created[rows], session[rows]))]
        touched = set(order.tolist())
        for row in order.tolist():
            place, follower = self._last.get(int(session[row]), -1), -1
            while place >= 0 and created[place] > created[row]:
                place, follower = int(before[place]), place
            before[row], after[row] = place, follower
            if place >= 0:
                after[place] = row
                touched.add(place)
            if follower >= 0:
                before[follower] = row
                touched.add(follower)
            else:
                self._last[int(session[row])] = row
            position = int(columns["position"][place]) + 1 if place >= 0 else 0
            columns["position"][row] = position
            columns["block"][row] = self._block.setdefault((int(session[row]), position // BLOCK), len(self._block))
        self.blocks = len(self._block)
        return np.fromiter(touched, np.int32, len(touched))

    def _measure(self, rows: NDArray[np.int32]) -> None:
        """‖v + ½ v_before + ½ v_after‖ of these rows, so that a window's cosine needs no vector of its own."""
        if not self._dimension:
            return
        vector, before, after = (self.columns[name] for name in ("vector", "before", "after"))
        for start in range(0, len(rows), 4096):
            some = rows[start : start + 4096]
            window = vector[some].copy()
            for neighbour in (before[some], after[some]):
                there = neighbour >= 0
                window[there] += 0.5 * vector[neighbour[there]]
            self.columns["norm"][some] = np.maximum(np.sqrt(np.einsum("ij,ij->i", window, window)), 1e-6)


def _vectors(blobs: Sequence[bytes | None], dimension: int) -> NDArray[np.float32]:
    missing = bytes(2 * dimension)
    whole = b"".join(missing if blob is None or len(blob) != 2 * dimension else blob for blob in blobs)
    return np.frombuffer(whole, "<f2").reshape(len(blobs), dimension).astype(np.float32)
