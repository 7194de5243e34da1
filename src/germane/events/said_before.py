"""Said before: what a user has said lately, to find which of it a new message may speak of as changed.

It is told by words alone: those that the two messages have in common, weighed by how rare they are in what this user says. A
link isn't a judgement: the newer message is read beside the older one where a request asks for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.memories.extraction.restating import CUE, RestatingTerm
from germane.text.analyse import hashed
from germane.text.traits import temporal

__all__ = ["SaidBefore"]

_LEAST, _FEWEST = 0.6, 20
"""What the common words must weigh at least, as a share of what a word weighs that was said in one message only; of fewer
messages than `_FEWEST` too little is known."""
_NEARLY = 0.6
"""The share of the best one's weight that a second one must have."""
_MAX_OLDER = 2
_LOW = 0xFFFF


class SaidBefore(NamedTuple):
    """Messages of a user: their ids, their speakers' names, whether they name a time, and the hashes of their
    words, each with the place of its message."""

    ids: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    timed: tuple[bool, ...] = ()
    places: NDArray[np.intp] = np.empty(0, np.intp)
    hashes: NDArray[np.uint32] = np.empty(0, np.uint32)

    @classmethod
    def of(cls, said: Iterable[tuple[str, str, bool, bytes]]) -> SaidBefore:
        """Of rows of id, name, whether it names a time, and the hashes as little-endian bytes."""
        rows = tuple(said)
        if not rows:
            return cls()
        ids, names, timed, terms = zip(*rows, strict=True)
        places = np.repeat(np.arange(len(rows)), [len(one) // 4 for one in terms])
        return cls(ids, names, timed, places, np.frombuffer(b"".join(terms), "<u4"))

    def and_then(self, id: str, name: str, text: str) -> SaidBefore:
        """With one more message."""
        found = np.frombuffer(hashed(text), "<u4")
        return SaidBefore(
            ids=(*self.ids, id),
            names=(*self.names, name),
            timed=(*self.timed, temporal(text)),
            places=np.concatenate((self.places, np.full(len(found), len(self.ids)))),
            hashes=np.concatenate((self.hashes, found)),
        )

    def restated_by(self, terms: Sequence[RestatingTerm], name: str) -> tuple[str, ...]:
        """Returns the ids of at most two messages of this speaker that a message with these terms may speak of as changed."""
        count, found = len(self.ids), [(hash, number) for number, term in enumerate(terms) for hash in term.hashes]
        if not count or not found:
            return ()
        wanted, numbers = (np.array(one) for one in zip(*sorted(found), strict=True))
        likely = np.flatnonzero(_endings_of(wanted)[self.hashes & _LOW])
        near = np.searchsorted(wanted, self.hashes[likely]).clip(max=len(wanted) - 1)
        same = wanted[near] == self.hashes[likely]
        pairs = np.unique(numbers[near[same]] * count + self.places[likely[same]])
        number, place = pairs // count, pairs % count
        held = np.bincount(number, minlength=len(terms))[number]
        timed = np.array(self.timed, np.bool_)[place]
        weight = np.where(
            timed, np.array([term.dated for term in terms])[number], np.array([term.weight for term in terms])[number]
        )
        rarity = np.log(1 + (count - held + 0.5) / (held + 0.5))
        weights = np.bincount(place, rarity * weight, minlength=count)
        cues = np.bincount(place, weight >= CUE, minlength=count) > 0
        least = _LEAST * log(1 + max(count, _FEWEST))
        fitting = cues & (weights >= least) & (np.array(self.names, object) == name)
        best = sorted(np.flatnonzero(fitting).tolist(), key=lambda place: (-weights[place], self.ids[place]))[:_MAX_OLDER]
        return tuple(self.ids[place] for place in best if weights[place] >= _NEARLY * weights[best[0]])


def _endings_of(hashes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lowest 16 bits the hashes have: most of all hashes are excluded by a look at this table."""
    table = np.zeros(_LOW + 1, np.bool_)
    table[hashes & _LOW] = True
    return table
