"""Closing: continues a conversation for another reader of it: closes the tool calls that are open, and adds a user's turn.

What was said stays as it is, byte for byte, so that the provider's prompt cache holds for the prefix. Only where some results
of the last calls stand in the last message already, and the provider wants all of them in one, is that message extended.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from germane.dialects.registry import dialect, parse_all
from germane.types.message import Message, Text, ToolCall, ToolResult

__all__ = ["continued", "open_calls"]

_CONTENTS = {"anthropic": "content", "gemini": "parts"}
"""Where a message holds its parts, for providers that want all results of a turn in one message."""


def open_calls(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Returns the calls of the assistant's last turn that have no result yet, in their order."""
    waiting, calling = _Waiting(), False
    for message in messages:
        if message.tool_calls and not calling:
            waiting = _Waiting()
        calling = bool(message.tool_calls)
        for call in message.tool_calls:
            waiting.add(call)
        for result in message.tool_results:
            waiting.close(result)
        if message.role == "user" and not message.tool_results:
            waiting = _Waiting()
    return tuple(waiting.calls.values())


def continued(
    raws: Sequence[Mapping[str, Any] | Message], provider: str, *, result: str, said: str
) -> list[Mapping[str, Any] | Message]:
    """Returns the messages with each open call closed by `result`, and `said` as a user's turn at the end, in the provider's
    shape. Raises `InvalidInput` for messages that can't be read."""
    messages = parse_all(raws, provider)
    calls = open_calls(messages)
    ended = tuple(ToolResult(call_id=call.id, text=result, name=call.name) for call in calls)
    if any(isinstance(raw, Message) for raw in raws):
        closing = (Message(role="tool", parts=ended),) if ended else ()
        return [*raws, *closing, Message.of("user", said)]
    turns = [Message(role="assistant", parts=calls), Message(role="tool", parts=ended)] if calls else []
    wire = dialect(provider).render([Message.of("user", "-"), *turns, Message(role="user", parts=(Text(said),))])
    tail = wire.messages[_own(wire.messages) :]
    place = _CONTENTS.get(provider)
    if calls and place is not None and raws and messages[-1].tool_results:
        last, first = dict(raws[-1]), tail[0]  # type: ignore[arg-type]
        if isinstance(last.get(place), list | tuple) and isinstance(first.get(place), list):
            return [*raws[:-1], {**last, place: [*last[place], *first[place]]}, *tail[1:]]
    return [*raws, *tail]


def _own(messages: Sequence[Mapping[str, Any]]) -> int:
    """Where what follows the assistant's calls begins; the last message where there are none."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.get("role") in ("assistant", "model") or message.get("type") in ("function_call", "custom_tool_call"):
            return index + 1
    return max(0, len(messages) - 1)


class _Waiting:
    """Mutable. The calls without a result, in their order. A result belongs to the first call with its id; without one, to the
    first of its name, or the first of all where it has no name either."""

    __slots__ = ("_keys", "_number", "calls")

    def __init__(self) -> None:
        self.calls: dict[int, ToolCall] = {}
        self._keys: dict[tuple[str, str], deque[int]] = {}
        self._number = 0

    def add(self, call: ToolCall) -> None:
        self.calls[self._number] = call
        for key in (("id", call.id), ("name", call.name), ("any", "")):
            self._keys.setdefault(key, deque()).append(self._number)
        self._number += 1

    def close(self, result: ToolResult) -> None:
        key = ("id", result.call_id) if result.call_id else ("name", result.name) if result.name else ("any", "")
        numbers = self._keys.get(key)
        while numbers:
            if self.calls.pop(numbers.popleft(), None) is not None:
                return
