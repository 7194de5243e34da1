"""Snapshot: how a partition's rows hang together, as one search sees it: links, lengths, norms.

Worked out once, and while units only come at the end of their sessions, as they do when people talk, carried on from there: a
few rows' work for a few rows more. Whatever changes links in another way (a late message, something dropped) has it worked
out anew, in other arrays, so that a search that is running keeps what it has. Carrying on writes behind what such a search
looks at, and into the row before a new one: its link, which leads beyond that search's rows and so counts as none, and its
norms.

For that the mean lengths of large partitions are rounded to eight binary digits: else every row would move every norm. The
same units have the same norms, in whatever steps they came.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns
from germane.search.partition import Partition

__all__ = ["K1", "B", "Snapshot", "snapshot"]

K1, B = 1.2, 0.75
_NOBODY = np.iinfo(np.int32).max
_LARGE, _DIGITS = 4096, 256
"""Rows from which a mean is rounded, and to what part of the next higher power of two."""

Floats = NDArray[np.float32]


class Snapshot(NamedTuple):
    """The norms are k1 · (1 − b + b · length / mean length), one a row for units and windows, one a block for blocks. In the
    links a number that isn't below `rows` stands for no neighbour."""

    rows: int
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    block: NDArray[np.int32]
    own: Floats
    window: Floats
    blocks: Floats
    joined: Floats
    """1 where a row and the next are neighbours, as most are: one shorter than the rows."""
    parted: tuple[NDArray[np.int32], NDArray[np.int32]]
    """The other links: rows, and a neighbour of each."""
    norms: int
    """Another number whenever the norms of rows that were there have changed."""
    beside: dict[str, Any]
    """Room for what others work out from it and keep, for as long as rows are only added."""

    def around(self, values: Floats) -> Floats:
        """For each row the sum of its neighbours' values. Most neighbours lie side by side, where adding is ten times as
        fast as looking them up."""
        total = np.zeros(self.rows, np.float32)
        np.multiply(values[:-1], self.joined, out=total[1:])
        total[:-1] += values[1:] * self.joined
        rows, neighbours = self.parted
        if len(rows):
            np.add.at(total, rows, values[neighbours])
        return total


def snapshot(partition: Partition, rows: int) -> Snapshot:
    """Of the first `rows` rows; what was dropped has no length and counts in no mean."""
    with partition.keeping:
        version, kept = partition.version, partition.kept
        if not isinstance(kept, _Kept) or kept.version < partition.reordered:
            kept = partition.kept = _Kept()
        if rows < kept.rows:
            kept = _Kept()  # a search that began a moment ago: what the later ones share isn't taken back
        if rows > kept.rows or kept.seen is None:
            kept.carry_on(partition, rows)
        kept.version = version
        assert kept.seen is not None
        return kept.seen


class _Kept:
    """What a partition's snapshot is carried on from. `version` is the partition's when it was last looked at."""

    def __init__(self) -> None:
        self.version = -1
        self.rows = 0
        self.seen: Snapshot | None = None
        shapes = {"before": np.int32, "after": np.int32, "block": np.int32, "joined": np.float32}
        norms = {"length": np.float32, "wide": np.float32, "own": np.float32, "window": np.float32}
        self._rows = Columns({name: (dtype, ()) for name, dtype in (shapes | norms).items()})
        self._parted = Columns({"row": (np.int32, ()), "neighbour": (np.int32, ())})
        self._blocks = np.zeros(0, np.float64)
        self._alive = 0
        self._totals = {"length": 0.0, "wide": 0.0}
        self._means: dict[str, float] = {}
        self._norms = 0
        self._beside: dict[str, Any] = {}

    def carry_on(self, partition: Partition, rows: int) -> None:
        """From the rows there were to `rows`."""
        begun = self.rows
        self._append(partition.columns, begun, rows)
        early = self._reach_back(begun, rows)
        self._join(begun, rows)
        changed = np.concatenate((early, np.arange(begun, rows, dtype=np.int32)))
        self._measure(changed, partition.columns["alive"])
        for norm, length in (("own", "length"), ("window", "wide")):
            self._renew(norm, length, changed, rows)
        columns = self._rows
        counts = np.bincount(columns["block"][begun:rows], columns["length"][begun:rows], len(self._blocks)).astype(np.float64)
        counts[: len(self._blocks)] += self._blocks
        self._blocks = counts
        self.rows = rows
        parted = self._parted.rows
        self.seen = Snapshot(
            rows=rows,
            before=columns["before"][:rows],
            after=columns["after"][:rows],
            block=columns["block"][:rows],
            own=columns["own"][:rows],
            window=columns["window"][:rows],
            blocks=_norm(counts, _mean(counts.sum(), int(np.count_nonzero(counts)))),
            joined=columns["joined"][: max(0, rows - 1)],
            parted=(self._parted["row"][:parted], self._parted["neighbour"][:parted]),
            norms=self._norms,
            beside=self._beside,
        )

    def _append(self, columns: Columns, begun: int, rows: int) -> None:
        new = slice(begun, rows)
        alive = columns["alive"][new]
        length = np.where(alive, columns["length"][new], np.float32(0))
        self._alive += int(np.count_nonzero(alive))
        self._totals["length"] += float(length.sum(dtype=np.float64))
        empty = np.zeros(rows - begun, np.float32)
        links = {name: _link(columns[name][new], rows) for name in ("before", "after")}
        rest = dict.fromkeys(("joined", "wide", "own", "window"), empty)
        self._rows.append(rows - begun, {**links, "block": columns["block"][new], "length": length, **rest})

    def _reach_back(self, begun: int, rows: int) -> NDArray[np.int32]:
        """Links from rows there were to new ones; answers the former."""
        before, after = self._rows["before"][begun:rows], self._rows["after"]
        new = np.flatnonzero(before < begun)
        early = before[new]
        after[early] = new + begun
        return early

    def _join(self, begun: int, rows: int) -> None:
        """Sort the new links into those between neighbouring rows and the others."""
        before = self._rows["before"][begun:rows]
        new = np.arange(begun, rows, dtype=np.int32)
        linked = np.flatnonzero(before < rows)
        linked = linked[self._rows["after"][before[linked]] == new[linked]]  # what was dropped has links, but nobody's
        late, early = new[linked], before[linked]
        beside = early == late - 1
        self._rows["joined"][early[beside]] = 1
        late, early = late[~beside], early[~beside]
        pairs = {"row": np.concatenate((late, early)), "neighbour": np.concatenate((early, late))}
        self._parted.append(2 * len(late), pairs)

    def _measure(self, changed: NDArray[np.int32], alive: NDArray[np.bool_]) -> None:
        """The windows' lengths of these rows."""
        length = self._rows["length"]
        wide = length[changed]
        for name in ("before", "after"):
            link = self._rows[name][changed]
            there = link < self._rows.rows
            wide[there] += length[link[there]]
        wide *= alive[changed]
        self._totals["wide"] += float((wide - self._rows["wide"][changed]).sum(dtype=np.float64))
        self._rows["wide"][changed] = wide

    def _renew(self, norm: str, length: str, changed: NDArray[np.int32], rows: int) -> None:
        """These rows' norms, or everybody's where the mean has moved."""
        lengths, norms = self._rows[length], self._rows[norm]
        mean = _mean(self._totals[length], self._alive)
        if self._means.get(norm) == mean:
            norms[changed] = _norm(lengths[changed], mean)
        else:
            norms[:rows] = _norm(lengths[:rows], mean)
            self._norms += 1
        self._means[norm] = mean


def _link(rows_of: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    link = rows_of.copy()
    link[(link < 0) | (link >= rows)] = _NOBODY
    return link


def _mean(total: float, many: int) -> float:
    mean = max(total / many if many else 1.0, 1e-6)
    if many < _LARGE:
        return mean
    digits, power = frexp(mean)
    return ldexp(round(digits * _DIGITS) / _DIGITS, power)


def _norm(length: NDArray[np.floating], mean: float) -> Floats:
    norm: Floats = np.float32(K1 * (1 - B)) + length.astype(np.float32) * np.float32(K1 * B / mean)
    return norm
