"""Exchanges: a conversation in batches, each an exchange with its tool calls and results, and how many of them fit (BUILD-3).

Only whole batches are left out, the oldest first. The newest batch, which is being worked on, always stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from germane.types.message import Message, is_human

__all__ = ["KeptHistory", "batches", "keep_newest"]


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


def batches(messages: Sequence[Message]) -> tuple[int, list[int]]:
    """Returns the number of system messages at the start, and the index at which each batch begins. A batch begins with the
    user's words, and never between a call and its result."""
    lead = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    joined = _joined(messages)
    starts: list[int] = []
    for index in range(lead, len(messages)):
        begins = is_human(messages[index]) and not (index > lead and is_human(messages[index - 1]))
        if index == lead or (begins and joined[index] < index):
            starts.append(index)
    return lead, starts


def keep_newest(messages: Sequence[Message], costs: Sequence[int], max_tokens: int, max_messages: int) -> KeptHistory:
    """Returns which batches stay: the newest ones that cost at most `max_tokens` together and hold at most `max_messages`, and
    at least the newest. `costs` are the messages' tokens. Lead messages count neither way."""
    lead, starts = batches(messages)
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


def _joined(messages: Sequence[Message]) -> list[int]:
    """For each index, the last message that belongs together with one before that index, by a call and its result; -1 for
    none."""
    calls: dict[str, int] = {}
    ends = [-1] * (len(messages) + 1)
    for index, message in enumerate(messages):
        for result in message.tool_results:
            if result.call_id and result.call_id in calls:
                began = calls[result.call_id] + 1
                ends[began] = max(ends[began], index)
        calls |= {call.id: index for call in message.tool_calls}
    for index in range(1, len(ends)):
        ends[index] = max(ends[index], ends[index - 1])
    return ends
