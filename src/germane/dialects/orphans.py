"""Orphans: the messages with a call or a result that has lost its other half, which `compose` closes as text."""

from __future__ import annotations

from collections.abc import Sequence

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.pairing import end_of_calls, end_of_results, match_results
from germane.dialects.responses_pairing import orphaned_items
from germane.types.message import ToolCall

__all__ = ["orphans"]


def orphans(turns: Sequence[OutgoingMessage], provider: str) -> frozenset[int]:
    """Returns the indexes of the turns in which the dialect called `provider` writes a call or a result as text."""
    if not any(turn.message.role == "tool" or _has_tools(turn) for turn in turns):
        return frozenset()
    if provider == OpenAIResponses.name:
        return frozenset(orphaned_items(turns))
    if provider == OpenAIChat.name:
        return frozenset(_among(turns))
    apart = [index for index, turn in enumerate(turns) if turn.message.role == "system" and not turn.in_place]
    spoken = sorted(set(range(len(turns))).difference(apart))
    lost = {spoken[place] for place in _among([turns[index] for index in spoken])}
    return frozenset(lost.union(index for index in apart if _has_tools(turns[index])))


def _among(turns: Sequence[OutgoingMessage]) -> set[int]:
    found: set[int] = set()
    index = 0
    while index < len(turns):
        turn = turns[index]
        if turn.message.role != "assistant" or not turn.message.tool_calls:
            if _has_tools(turn):
                found.add(index)
            index += 1
            continue
        end = end_of_calls(turns, index)
        window = turns[end : end_of_results(turns, end)]
        owners = [place for place in range(index, end) for _ in turns[place].message.tool_calls]
        calls: list[ToolCall] = [call for turn in turns[index:end] for call in turn.message.tool_calls]
        answered = match_results(calls, window)
        kept = set(answered.values())
        found.update(owner for place, owner in enumerate(owners) if place not in kept)
        found.update(place for place in range(index, end) if turns[place].message.tool_results)
        for place, turn in enumerate(window):
            lost = len(turn.message.tool_results) > sum(place == at for at, _ in answered)
            if lost or turn.message.tool_calls:
                found.add(end + place)
        index = end + len(window)
    return found


def _has_tools(turn: OutgoingMessage) -> bool:
    return bool(turn.message.tool_calls or turn.message.tool_results)
