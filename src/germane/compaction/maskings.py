"""Maskings: what masking each message of a conversation brings. A message's outputs are read once, when somebody asks.

It holds the lists that the fold of the conversation appends to, and not the fold: whoever asks then holds no cycle, and a
conversation that nobody follows any more is freed at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from germane.compaction.message_cost import Masking, Measure, MessageCost
from germane.types.message import Message, Raw

__all__ = ["Maskings"]

_NOTHING = Masking()


class Maskings:
    """By the index of a message. `raws`, `messages` and `costs` may grow."""

    __slots__ = ("_costs", "_known", "_measure", "_messages", "_raws")

    def __init__(
        self, measure: Measure, raws: Sequence[Raw], messages: Sequence[Message], costs: Sequence[MessageCost]
    ) -> None:
        self._measure, self._raws, self._messages, self._costs = measure, raws, messages, costs
        self._known: dict[int, Masking] = {}

    def of(self, index: int) -> Masking:
        """What masking the message brings."""
        if not self._costs[index].outputs:
            return _NOTHING
        known = self._known.get(index)
        if known is None:
            known = self._known[index] = self._measure.masking(self._messages[index], self._raws[index])
        return known

    def saving(self, index: int) -> int:
        """The tokens that it takes away at least."""
        return self.of(index).saving
