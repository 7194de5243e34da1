"""Measure: what a request costs before anything is added, and what is left to add (BUD-3, BUD-4, BUD-5).

Everything counts: role and separators of each message, names, texts, tool calls and results with their ids, images by the
model's rule, parts nobody reads by their size, tool schemas as JSON. Where a provider's own wording is unknown the count errs
upwards. Base64 payloads are priced by what they hold, not by their letters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from germane.catalog.images import price
from germane.catalog.payload import split_payloads, written
from germane.catalog.profile import Profile
from germane.ports.tokenizer import Tokenizer
from germane.types.budget import Budget, allocate
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult

__all__ = ["PER_CALL", "measure", "message_tokens", "texts_of", "tools_tokens"]

PER_CALL = 8
"""Markers around a tool call or its result."""
_PER_PART = 1
_ESTIMATED = 0.05


def measure(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
    *,
    shaping: int = 0,
) -> Budget:
    """The budget of a request. `cap` is the caller's `max_tokens`, else the strategy's cap (BUD-5). `shaping` is what a dialect
    adds at most when it writes the messages, in tokens.

    Room for germane's own messages beside their text (at most two, INJECT-2) and for shaping is taken off what is available.
    """
    safety = profile.safety if tokenizer.exact else max(profile.safety, _ESTIMATED)
    spoken = profile.per_request + sum(message_tokens(message, profile, tokenizer.count) for message in messages)
    return allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=spoken,
        tools=tools_tokens(tools, profile, tokenizer.count),
        safety_fraction=safety,
        cap=cap,
        overhead=2 * profile.per_message + shaping,
    )


def message_tokens(message: Message, profile: Profile, count: Callable[[str], int]) -> int:
    """One message, its own overhead included."""
    parts = message.parts
    total = profile.per_message if message.name is None else profile.per_message + 1 + count(message.name)
    for part in parts:
        total += count(part.text) if isinstance(part, Text) else _part_tokens(part, profile, count)
    return total + _PER_PART * max(0, len(parts) - 1)


def tools_tokens(tools: Sequence[Mapping[str, Any]], profile: Profile, count: Callable[[str], int]) -> int:
    """All tool schemas, as JSON; 0 without tools."""
    if not tools:
        return 0
    return profile.per_tools + sum(profile.per_tool + count(written(tool)) for tool in tools)


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
            text, payload = split_payloads(part.raw)
            return PER_CALL + count(text) + payload
