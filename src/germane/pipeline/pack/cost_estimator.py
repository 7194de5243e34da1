"""Cost estimator: what each item costs when it first goes in: whole, or a long message as a passage.

One passage usually holds the answer of a long assistant message; the rest of the message would displace other messages.
The packer lets excerpts grow again once every item has been tried. Typed memories are never cut to a passage: their wording
was chosen by somebody.
"""

from __future__ import annotations

from typing import NamedTuple

from germane.pipeline.pack.cost import Layout
from germane.types.amount import MOST_CHARS_PER_TOKEN, PASSAGE_TOKENS, SHORT_PASSAGE_TOKENS, shown_value
from germane.types.candidate import Candidate, Scored

__all__ = ["CostEstimate", "CostEstimator"]

_CUT = frozenset({"archival", "event"})
"""Kinds of which a passage may be shown: messages, and what was archived."""
_SHORT_TOKENS = 90
"""Tokens of text up to which a message goes in whole: a cut would save less than it hides."""
_MIN_CUT = 8
"""Tokens that a short passage has to save."""
_CHARS_PER_TOKEN = 4
"""Of long texts, to estimate what the rest of a passage costs."""


class CostEstimate(NamedTuple):
    """Costs in tokens. `line` is the item's own line as it first goes in, `header` the header of its `group`; `passage` tells
    whether the item first goes in as a passage. `rest` is about what the rest of the text costs then, and `value` what the
    passage is worth (`shown_value`)."""

    line: int
    group: str
    header: int
    passage: bool
    rest: int = 0
    value: float = 1.0


class CostEstimator:
    """Estimates the first cost of items and caches the estimates by rank. Asks the layout once or twice an item; lives for one
    packing."""

    def __init__(self, layout: Layout, *, broad: bool = False, passages: bool = True) -> None:
        """`broad` makes passages short, to show some of many messages. `passage_tokens` are those of a passage's text. Without
        `passages`, every item first goes in whole."""
        self._layout, self._broad, self._passages = layout, broad, passages
        self.passage_tokens, self._short = (
            (SHORT_PASSAGE_TOKENS, SHORT_PASSAGE_TOKENS + _MIN_CUT) if broad else (PASSAGE_TOKENS, _SHORT_TOKENS)
        )
        self._estimates: dict[int, CostEstimate] = {}
        self._headers: dict[str, int] = {}

    def estimate(self, item: Scored) -> CostEstimate:
        """The item's estimate, computed on first use."""
        return self._estimates.get(item.rank) or self._compute(item)

    def passage_cost(self, item: Scored) -> int:
        """The most tokens that a passage of the item may cost, a header of its own included."""
        return self._layout.cost(item.candidate, "") + self.estimate(item).header + self.passage_tokens

    def _compute(self, item: Scored) -> CostEstimate:
        candidate = item.candidate
        line, passage = self._first_line(candidate)
        group = self._layout.group(candidate)
        header = self._headers.get(group)
        if header is None:
            header = self._headers[group] = self._layout.header(candidate)
        if passage:
            tokens = max(self.passage_tokens + 1, len(candidate.text) // _CHARS_PER_TOKEN)
            value = 1.0 if self._broad else shown_value(self.passage_tokens / tokens)
            estimate = CostEstimate(line, group, header, True, tokens - self.passage_tokens, value)
        else:
            estimate = CostEstimate(line, group, header, False)
        self._estimates[item.rank] = estimate
        return estimate

    def _first_line(self, candidate: Candidate) -> tuple[int, bool]:
        """Cost of the line that first goes in, and whether that line is a passage. ASCII text with at most two characters for
        each token of a short one is hardly ever long, so the empty line isn't costed for it."""
        text = candidate.text
        short = len(text) <= 2 * self._short and text.isascii()
        if short or candidate.required or not self._passages or _CUT.isdisjoint(candidate.kinds):
            return self._layout.cost(candidate, text), False
        whole = None
        if len(text) <= MOST_CHARS_PER_TOKEN * _SHORT_TOKENS:
            whole = self._layout.cost(candidate, text)
            if whole <= self._short:
                return whole, False
        empty = self._layout.cost(candidate, "")
        if whole is not None and whole - empty <= self._short:
            return whole, False
        return empty + self.passage_tokens, True
