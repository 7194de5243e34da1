"""Folds: divides candidate lists into cross-validation folds of whole conversations.

Questions of one conversation share its words, its people and the habits of whoever labelled it. A model that was fitted on some
of them knows too much about the others, so they are never on both sides of a fold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates

__all__ = ["folds"]


def folds(lists: Sequence[Candidates], max_folds: int | None = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yields (indices to fit on, indices to hold out) into `lists` for each fold. By default each conversation is a fold;
    `max_folds` joins them to that many folds of about equally many questions. Yields nothing for fewer than two
    conversations."""
    names = [(one.dataset, one.conversation) for one in lists]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if len(sizes) < 2:
        return
    count = len(sizes) if max_folds is None else max(2, min(max_folds, len(sizes)))
    loads, fold = [0] * count, {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[name] = loads.index(min(loads))
        loads[fold[name]] += sizes[name]
    number = np.array([fold[name] for name in names])
    for held in range(count):
        yield np.flatnonzero(number != held), np.flatnonzero(number == held)
