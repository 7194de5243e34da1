"""Newest: the newest batches that fit, each an exchange with its tool calls and results: the hasty way, where there is no time.

Only whole batches are left out, the oldest first. The newest batch, which is being worked on, always stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from germane.compaction.divide import divide
from germane.types.message import Message

__all__ = ["KeptHistory", "keep_newest"]


class KeptHistory(NamedTuple):
    """`lead` system messages stand before the conversation and stay; the messages from `lead` to `start` are left out. `active`
    is the index of the newest batch. `tokens` are those of what stays, lead included."""

    lead: int
    start: int
    active: int
    tokens: int
    batches_left_out: int

    @property
    def messages_left_out(self) -> int:
        return self.start - self.lead


def keep_newest(messages: Sequence[Message], costs: Sequence[int], max_tokens: int, max_messages: int) -> KeptHistory:
    """Returns which batches stay: the newest ones that cost at most `max_tokens` together and hold at most `max_messages`, and
    at least the newest. `costs` are the messages' tokens. Lead messages count neither way."""
    lead, exchanges = divide(messages)
    starts = [exchange.start for exchange in exchanges]
    fixed = sum(costs[:lead])
    if not starts:
        return KeptHistory(lead, lead, lead, fixed, 0)
    tokens, kept = 0, len(starts)
    for place in range(len(starts) - 1, -1, -1):
        end = starts[place + 1] if place + 1 < len(starts) else len(messages)
        cost = sum(costs[starts[place] : end])
        too_much = tokens + cost > max_tokens or len(messages) - starts[place] > max_messages
        if too_much and kept < len(starts):
            break
        tokens, kept = tokens + cost, place
        if too_much:
            break
    return KeptHistory(lead, starts[kept], starts[-1], fixed + tokens, kept)
