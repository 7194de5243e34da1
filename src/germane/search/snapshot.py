"""Snapshot: links, lengths and BM25 norms of a partition's rows as one search sees them, updated incrementally.

While units are only appended to their sessions, as in a conversation, a snapshot is extended from the one before: new rows
cost work in proportion to their number. Any other change of links (a late message, a dropped unit) has the snapshot computed
anew in fresh arrays, so that a running search keeps its own. Extending writes beyond the rows that a running search reads, and
into the row before a new one: that row's link, which leads beyond the search's rows and so counts as no neighbour, and its
norms.

The mean lengths of large partitions are rounded to eight binary digits; without that, each new row would change all norms. The
same units have the same norms, in whatever steps they were added.
"""

from __future__ import annotations

from math import frexp, ldexp
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns
from germane.search.partition import Partition

K1, B = 1.2, 0.75
_NO_ROW = np.iinfo(np.int32).max
_MIN_ROUNDED, _STEPS = 4096, 256
"""Rows from which a mean is rounded, and the steps to which the mantissa of the mean is rounded."""

Floats = NDArray[np.float32]


class Snapshot(NamedTuple):
    """`before` and `after` are links to neighbouring rows; a link that isn't below `rows` means no neighbour. `block` is each
    row's block. `own`, `window` and `blocks` are BM25's length norms, k1 · (1 − b + b · length / mean length), of each row's
    unit, of its window, and of each block."""

    rows: int
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    block: NDArray[np.int32]
    own: Floats
    window: Floats
    blocks: Floats
    adjacent: Floats
    """Shape (rows − 1,): 1 where a row and the next row are neighbours, as most are, else 0."""
    distant: tuple[NDArray[np.int32], NDArray[np.int32]]
    """All other links: rows, and one neighbour of each."""
    linked: bool
    """Whether any row has a neighbour; memories have none."""
    norms_version: int
    """Changes whenever the norms of earlier rows change."""
    extras: dict[str, Any]
    """Where other modules store what they derive from the snapshot, for as long as rows are only appended."""

    def neighbour_sum(self, values: Floats) -> Floats:
        """Returns for each row the sum of its two neighbours' values, of the shape of `values`, (…, rows). Most neighbours are
        adjacent rows, where adding slices is ten times as fast as looking each neighbour up."""
        total = np.zeros(values.shape, np.float32)
        if not self.linked:
            return total
        np.multiply(values[..., :-1], self.adjacent, out=total[..., 1:])
        total[..., :-1] += values[..., 1:] * self.adjacent
        rows, neighbours = self.distant
        if len(rows):
            np.add.at(total.T, rows, values[..., neighbours].T)
        return total

    def walk(self, rows: NDArray[np.intp], steps: int) -> NDArray[np.int32]:
        """Returns the rows 1 to `steps` steps before and after each of `rows`, nearest first: shape (2, steps, len(rows)). A
        row that isn't below the snapshot's `rows` means no neighbour."""
        if not self.linked:
            return np.full((2, steps, len(rows)), self.rows, np.int32)
        walked = np.empty((2, steps, len(rows)), np.int32)
        for side, link in enumerate((self.before, self.after)):
            at: NDArray[np.integer] = rows
            for step in range(steps):
                at = walked[side, step] = np.where(at < self.rows, link.take(at, mode="clip"), self.rows)
        return walked


def take_snapshot(partition: Partition, rows: int) -> Snapshot:
    """Returns a snapshot of the first `rows` rows. Dropped rows have length 0 and count in no mean. Thread-safe."""
    with partition.snapshot_lock:
        version, builder = partition.version, partition.snapshot_state
        if not isinstance(builder, _Builder) or builder.version < partition.relinked_version:
            builder = partition.snapshot_state = _Builder()
        if rows < builder.rows:
            builder = _Builder()  # for a search that began earlier; the shared builder, which is further on, stays
        if rows > builder.rows or builder.snapshot is None:
            builder.extend(partition, rows)
        builder.version = version
        assert builder.snapshot is not None
        return builder.snapshot


class _Builder:
    """The arrays behind a partition's latest snapshot, from which the next is made. `version` is the partition's version
    then."""

    def __init__(self) -> None:
        self.version = -1
        self.rows = 0
        self.snapshot: Snapshot | None = None
        shapes = {"before": np.int32, "after": np.int32, "block": np.int32, "adjacent": np.float32}
        norms = {"length": np.float32, "window_length": np.float32, "own": np.float32, "window": np.float32}
        self._rows = Columns({name: (dtype, ()) for name, dtype in (shapes | norms).items()})
        self._distant = Columns({"row": (np.int32, ()), "neighbour": (np.int32, ())})
        self._blocks = np.zeros(0, np.float64)
        self._alive = 0
        self._totals = {"length": 0.0, "window_length": 0.0}
        self._means: dict[str, float] = {}
        self._norms_version = 0
        self._extras: dict[str, Any] = {}

    def extend(self, partition: Partition, rows: int) -> None:
        """Makes the snapshot of the first `rows` rows, from that of fewer rows."""
        begun = self.rows
        self._append(partition.columns, begun, rows)
        early = self._link_earlier(begun, rows)
        self._sort_links(begun, rows)
        changed = np.concatenate((early, np.arange(begun, rows, dtype=np.int32)))
        self._measure_windows(changed, partition.columns["alive"])
        for norm, length in (("own", "length"), ("window", "window_length")):
            self._update_norms(norm, length, changed, rows)
        columns = self._rows
        counts = np.bincount(columns["block"][begun:rows], columns["length"][begun:rows], len(self._blocks)).astype(np.float64)
        counts[: len(self._blocks)] += self._blocks
        self._blocks = counts
        self.rows = rows
        distant = self._distant.rows
        adjacent = columns["adjacent"][: max(0, rows - 1)]
        self.snapshot = Snapshot(
            rows=rows,
            before=columns["before"][:rows],
            after=columns["after"][:rows],
            block=columns["block"][:rows],
            own=columns["own"][:rows],
            window=columns["window"][:rows],
            blocks=_norm(counts, _mean(counts.sum(), int(np.count_nonzero(counts)))),
            adjacent=adjacent,
            distant=(self._distant["row"][:distant], self._distant["neighbour"][:distant]),
            linked=bool(distant or adjacent.any()),
            norms_version=self._norms_version,
            extras=self._extras,
        )

    def _append(self, columns: Columns, begun: int, rows: int) -> None:
        new = slice(begun, rows)
        alive = columns["alive"][new]
        length = np.where(alive, columns["length"][new], np.float32(0))
        self._alive += int(np.count_nonzero(alive))
        self._totals["length"] += float(length.sum(dtype=np.float64))
        empty = np.zeros(rows - begun, np.float32)
        links = {name: _link(columns[name][new], rows) for name in ("before", "after")}
        rest = dict.fromkeys(("adjacent", "window_length", "own", "window"), empty)
        self._rows.append(rows - begun, {**links, "block": columns["block"][new], "length": length, **rest})

    def _link_earlier(self, begun: int, rows: int) -> NDArray[np.int32]:
        """Links earlier rows to the new rows that follow them. Returns these earlier rows."""
        before, after = self._rows["before"][begun:rows], self._rows["after"]
        new = np.flatnonzero(before < begun)
        early = before[new]
        after[early] = new + begun
        return early

    def _sort_links(self, begun: int, rows: int) -> None:
        """Sorts the new links into those between adjacent rows and all others."""
        before = self._rows["before"][begun:rows]
        new = np.arange(begun, rows, dtype=np.int32)
        linked = np.flatnonzero(before < rows)
        linked = linked[
            self._rows["after"][before[linked]] == new[linked]
        ]  # a dropped row still links to others, but no row links back
        late, early = new[linked], before[linked]
        adjacent = early == late - 1
        self._rows["adjacent"][early[adjacent]] = 1
        late, early = late[~adjacent], early[~adjacent]
        pairs = {"row": np.concatenate((late, early)), "neighbour": np.concatenate((early, late))}
        self._distant.append(2 * len(late), pairs)

    def _measure_windows(self, changed: NDArray[np.int32], alive: NDArray[np.bool_]) -> None:
        """Computes the window lengths of the changed rows."""
        length = self._rows["length"]
        window = length[changed]
        for name in ("before", "after"):
            link = self._rows[name][changed]
            linked = link < self._rows.rows
            window[linked] += length[link[linked]]
        window *= alive[changed]
        self._totals["window_length"] += float((window - self._rows["window_length"][changed]).sum(dtype=np.float64))
        self._rows["window_length"][changed] = window

    def _update_norms(self, norm: str, length: str, changed: NDArray[np.int32], rows: int) -> None:
        """Computes the norms of the changed rows, or of all rows where the mean has changed."""
        lengths, norms = self._rows[length], self._rows[norm]
        mean = _mean(self._totals[length], self._alive)
        if self._means.get(norm) == mean:
            norms[changed] = _norm(lengths[changed], mean)
        else:
            norms[:rows] = _norm(lengths[:rows], mean)
            self._norms_version += 1
        self._means[norm] = mean


def _link(rows_of: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    link = rows_of.copy()
    link[(link < 0) | (link >= rows)] = _NO_ROW
    return link


def _mean(total: float, count: int) -> float:
    mean = max(total / count if count else 1.0, 1e-6)
    if count < _MIN_ROUNDED:
        return mean
    mantissa, exponent = frexp(mean)
    return ldexp(round(mantissa * _STEPS) / _STEPS, exponent)


def _norm(length: NDArray[np.floating], mean: float) -> Floats:
    norm: Floats = np.float32(K1 * (1 - B)) + length.astype(np.float32) * np.float32(K1 * B / mean)
    return norm
