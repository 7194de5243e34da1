"""Marginal relevance: an order in which each text counts by what it is about, and by what it adds to those before it.

After J. Carbonell, J. Goldstein, "The Use of MMR, Diversity-Based Reranking" (1998), with words in the place of a likeness of
texts: a word that stands in texts before it counts half as much with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from heapq import heapify, heappop, heappush
from itertools import repeat

__all__ = ["by_marginal_relevance"]

_REPEATED = 0.5
_SMOOTHING = 4
"""Words by which each text counts as longer, so that a text of one new word isn't the best."""
_MAX_LOOKS = 8
"""Looks at what one text adds, as the words of those chosen before count less."""


def by_marginal_relevance(relevance: Sequence[float], words: Sequence[Set[str]], limit: int) -> list[int]:
    """Returns the indexes of at most `limit` texts, the best first: by their relevance, [0, 1], plus the mean of what their
    words add, [0, 1). Of equal ones the first. Takes linear time, but for the sorting."""
    weights = dict[str, float]()  # of the words that were seen; any other weighs 1

    def score(index: int) -> float:
        own = words[index]
        return relevance[index] + sum(map(weights.get, own, repeat(1.0))) / (len(own) + _SMOOTHING)

    heap = [(-score(index), index, 1) for index in range(len(words))]
    heapify(heap)
    found = list[int]()
    while heap and len(found) < limit:
        known, index, looks = heappop(heap)
        if looks < _MAX_LOOKS and heap and (now := -score(index)) > known and now > heap[0][0]:
            heappush(heap, (now, index, looks + 1))
            continue
        found.append(index)
        for word in words[index]:
            weights[word] = _REPEATED * weights.get(word, 1.0)
    return found
