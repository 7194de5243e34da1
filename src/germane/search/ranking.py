"""Ranking: the best rows of all partitions that a search looked at, in order, and which of them are worth reading.

Reading a result, scoring it and costing it take some tens of microseconds each, and of those that a search finds a fifth is
shown. What a result can bring at most for each token is known before its text is read: its probability, and the fewest tokens
that its words take. Where that is far below the query's price, the text isn't read.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.sigmoid import sigmoid
from germane.types.amount import COUNTED_ITEMS, PASSAGE_TOKENS, PASSAGE_VALUE, SHORT_PASSAGE_TOKENS

__all__ = ["Ranking"]

Floats = NDArray[np.float64]

_ALWAYS_KEPT = 8
"""Rows less likely than the query's `min_relevance` are kept only among the best 8."""
_ALWAYS_READ = 10
"""The best rows of other sessions are read, whatever they cost: P(need) follows from them."""
_MARGIN = 0.9
"""The share of the price that a row must reach, as recency and what other sources know may still add to its score. Measured on
the development data, evidence and tokens are the same with 0.7, and a quarter more is read then."""
_LINE = 6
"""Tokens of a line besides its text: handle, speaker, line end."""


class Ranking(NamedTuple):
    """Columns of equal length; `table` has a row of features for each. `tokens` is what its text takes, or its words where
    nobody has counted. `others` is whether a row belongs to another session than the running one, whose messages may stand in
    the request already."""

    odds: Floats
    partition: NDArray[np.int64]
    keys: NDArray[np.int64]
    rows: NDArray[np.intp]
    table: Floats
    tokens: NDArray[np.int32]
    others: NDArray[np.bool_]

    @classmethod
    def of(
        cls, index: int, partition: Partition, rows: NDArray[np.intp], table: Floats, odds: Floats, session: int | None
    ) -> Ranking:
        """The rows of one partition, in any order. `session` is the running session's number in the store."""
        columns = partition.columns
        running = None if session is None else partition.session_number(session)
        others = np.ones(len(rows), np.bool_) if running is None else columns["session"][rows] != running
        return cls(
            odds,
            np.full(len(rows), index),
            columns["key"][rows],
            rows,
            table,
            np.maximum(columns["words"][rows], columns["tokens"][rows]),
            others,
        )

    @classmethod
    def merged(cls, rankings: Sequence[Ranking], limit: int, *, parts: bool) -> Ranking:
        """The best `limit` rows of all, the most relevant first; ties go by partition, then by key. Where long texts have
        `parts`, each key keeps its best row."""
        joined = rankings[0] if len(rankings) == 1 else cls._make(map(np.concatenate, zip(*rankings, strict=True)))
        order = np.lexsort((joined.keys, joined.partition, -joined.odds))
        if parts:
            pairs = np.column_stack((joined.partition, joined.keys))[order]
            order = order[np.sort(np.unique(pairs, axis=0, return_index=True)[1])]
        return joined.where(order[:limit])

    def likely(self, minimum: float) -> Ranking:
        """The rows of at least this probability, and the best few."""
        cutoff = -log(1 / min(minimum, 0.99) - 1)
        count = max(_ALWAYS_KEPT, int(np.count_nonzero(self.odds >= cutoff)))
        return self.where(slice(count))

    def leading(self, count: int, spread: float) -> Ranking:
        """The best `count` rows, and those within so many log-odds of the last of them."""
        if len(self.odds) <= count:
            return self
        return self.where(self.odds >= self.odds[count - 1] - spread)

    def where(self, which: NDArray[Any] | slice) -> Ranking:
        """Some of the rows."""
        return Ranking._make(column[which] for column in self)

    def worth_reading(self, price: float, *, broad: bool) -> NDArray[np.bool_]:
        """A mask: the rows that may be worth their tokens at this price, a share of what is missing for each token."""
        probability = sigmoid(self.odds)
        expected = float(probability[self.others][:COUNTED_ITEMS].sum())
        worth: NDArray[np.bool_] = probability >= _MARGIN * price * expected * self.least_tokens(broad=broad)
        worth[np.flatnonzero(self.others)[:_ALWAYS_READ]] = True
        return worth

    def least_tokens(self, *, broad: bool) -> Floats:
        """The fewest tokens for which each row brings its whole value: those of the whole text, or of a passage divided by its
        value (`shown_value`)."""
        tokens = np.maximum(self.tokens, 1).astype(np.float64)
        if broad:
            return np.minimum(tokens, SHORT_PASSAGE_TOKENS) + _LINE
        value = PASSAGE_VALUE + (1 - PASSAGE_VALUE) * np.minimum(1.0, PASSAGE_TOKENS / tokens)
        return np.minimum(tokens + _LINE, (PASSAGE_TOKENS + _LINE) / value)
