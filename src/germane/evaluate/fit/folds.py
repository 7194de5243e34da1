"""Folds: which lists are held out together. By conversation, never by question: questions of one conversation share its
words, its people and its labels' habits, and a model that has seen some of them knows too much of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates

__all__ = ["folds"]


def folds(lists: Sequence[Candidates], most: int | None = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """(fitted on, held out), as indices into `lists`: one fold a conversation, or `most` folds of whole conversations of
    about as many questions each. Fewer than two conversations give no fold: nothing can be held out."""
    names = [(one.dataset, one.conversation) for one in lists]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if len(sizes) < 2:
        return
    many = len(sizes) if most is None else max(2, min(most, len(sizes)))
    loads, fold = [0] * many, {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[name] = loads.index(min(loads))
        loads[fold[name]] += sizes[name]
    number = np.array([fold[name] for name in names])
    for held in range(many):
        yield np.flatnonzero(number != held), np.flatnonzero(number == held)
