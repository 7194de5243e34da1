"""Measure budget: the tokens of a request as the caller sent it, and the budget left (BUD-3, BUD-4, BUD-5).

Everything counts: role and separators of each message, names, texts, tool calls and results with their ids, images by the
model's rule, opaque parts by their size, files and a provider's own tools by the model's figures, tool schemas as JSON. Where a
provider's own serialisation is unknown, the count is an upper estimate. Base64 payloads are priced by the bytes they encode,
not by their letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from germane.catalog.figures import own_tool_tokens
from germane.catalog.images import price
from germane.catalog.payload import split_payloads, written
from germane.catalog.profile import Profile
from germane.ports.tokenizer import Tokenizer
from germane.types.budget import Budget, allocate
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult

__all__ = ["PER_CALL", "measure", "message_tokens", "request_room", "texts_of", "tools_tokens"]

PER_CALL = 8
"""Tokens of the markers around a tool call or its result."""
_PER_PART = 1
_MIN_ESTIMATED_SAFETY = 0.05
"""Safety fraction with an estimating tokenizer, at least."""


def measure(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
    *,
    shaping: int = 0,
    beside: int = 0,
    reserve: int | None = None,
) -> Budget:
    """Returns the budget of a request, in tokens. `cap` is the caller's `max_tokens`, else the strategy's cap (BUD-5).
    `shaping` is the upper bound of what a dialect adds when it writes the messages, `beside` what is sent beside them, such as
    the system parts of a built request; `reserve` replaces BUD-3's.

    The overhead of germane's own messages (at most two, INJECT-2) and the shaping are subtracted from what is available.
    """
    spoken = profile.per_request + sum(message_tokens(message, profile, tokenizer.count) for message in messages)
    return allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=spoken + beside,
        tools=tools_tokens(tools, profile, tokenizer.count),
        safety_fraction=_safety(profile, tokenizer),
        cap=cap,
        overhead=2 * profile.per_message + shaping,
        reserve=reserve,
    )


def request_room(profile: Profile, tokenizer: Tokenizer, *, beside: int = 0, reserve: int | None = None) -> int:
    """Returns the tokens of the window that the messages and tools of a request may take: without the answer's reserve and the
    safety margin (BUD-3), and without what is sent `beside` them."""
    budget = allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=beside,
        tools=0,
        safety_fraction=_safety(profile, tokenizer),
        cap=profile.window,
        reserve=reserve,
    )
    return budget.available


def _safety(profile: Profile, tokenizer: Tokenizer) -> float:
    return profile.safety if tokenizer.exact else max(profile.safety, _MIN_ESTIMATED_SAFETY)


def message_tokens(message: Message, profile: Profile, count: Callable[[str], int]) -> int:
    """Returns the tokens of one message, its overhead included."""
    parts = message.parts
    total = profile.per_message if message.name is None else profile.per_message + 1 + count(message.name)
    for part in parts:
        total += count(part.text) if isinstance(part, Text) else _part_tokens(part, profile, count)
    return total + _PER_PART * max(0, len(parts) - 1)


def tools_tokens(tools: Sequence[Mapping[str, Any]], profile: Profile, count: Callable[[str], int]) -> int:
    """Returns the tokens of all tool schemas as JSON, their overhead and what a provider writes for its own tools included; 0
    without tools."""
    if not tools:
        return 0
    return profile.per_tools + sum(
        profile.per_tool + count(written(tool)) + own_tool_tokens(tool, profile.own_tools) for tool in tools
    )


def texts_of(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Every text that `measure` will count, so that large ones can be counted ahead (`bounded.py`)."""
    for message in messages:
        for part in message.parts:
            match part:
                case Text(text) | ToolResult(text=text):
                    yield text
                case ToolCall(arguments=arguments):
                    yield arguments
                case Opaque(raw=raw):
                    yield split_payloads(raw)[0]
                case Image():
                    pass
    yield from map(written, tools)


def _part_tokens(part: Part, profile: Profile, count: Callable[[str], int]) -> int:
    match part:
        case Text(text):
            return count(text)
        case Image():
            return price(profile.images, part)
        case ToolCall():
            return PER_CALL + count(part.id) + count(part.name) + count(part.arguments)
        case ToolResult():
            return PER_CALL + count(part.call_id) + count(part.name) + count(part.text)
        case Opaque():
            text, payload = split_payloads(part.raw, profile.media)
            return PER_CALL + count(text) + payload
