"""Edits: changes of messages in any provider's shape: without germane's text, masked, or with calls closed.

germane's text is in a system text, or in front of a user's words: there `authored` leaves nothing of it (INJECT-5). With
`quotes` it is also left out of the midst of anybody's words, of tool results and of a call's arguments, where a marker
stands for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.fields import mapping
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.pairing import end_of_calls, end_of_results, match_results
from germane.dialects.registry import dialect, dialect_of, parse_all
from germane.dialects.responses_pairing import orphaned_items
from germane.text.injected import authors_words, system_words, without_injected, without_injected_json
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult

Cut = Callable[[str, bool, bool], str]
"""Returns what stays of a text, "" to take it out of its message. The second argument says whether it is the system's, the
third whether it is the last text of its message."""


def authored(message: Message, *, quotes: bool = False) -> Message | None:
    """Returns the message without germane's text, the same object where it holds none; None where nothing is left."""
    cut = cut_message(message, _cut) if message.role in ("system", "user") else message
    return cut if cut is None or not quotes else _unquoted(cut)


def authored_dict(raw: Mapping[str, Any], role: str, *, quotes: bool = False) -> Mapping[str, Any]:
    """Returns the dict of a message with this role likewise, as JSON where it has `quotes`. Texts are empty where nothing is
    left."""
    if role in ("system", "user"):
        cut = cut_dict(raw, _cut, system=role == "system")
        raw = {key: [] if key == "parts" else "" if key == "content" else raw[key] for key in raw} if cut is None else cut
    return without_injected_json(raw) if quotes else raw


def cut_message(message: Message, cut: Cut) -> Message | None:
    """Returns the message with its text parts cut; the same object where nothing is cut, None where nothing is left."""
    kept: list[Part] = []
    last = len(message.parts) - 1
    for index, part in enumerate(message.parts):
        if not isinstance(part, Text) or (text := cut(part.text, message.role == "system", index == last)) == part.text:
            kept.append(part)
        elif text:
            kept.append(Text(text))
    if len(kept) == len(message.parts) and all(one is other for one, other in zip(kept, message.parts, strict=True)):
        return message
    return replace(message, parts=tuple(kept)) if kept else None


def cut_dict(fields: Mapping[str, Any], cut: Cut, *, system: bool) -> Mapping[str, Any] | None:
    """Returns the dict with its texts cut likewise."""
    name = "parts" if "parts" in fields else "content"
    content = fields.get(name)
    if isinstance(content, str):
        text = cut(content, system, True)
        return fields if text == content else {**fields, name: text} if text else None
    blocks: list[Any] = []
    given = list(content or ())
    for index, block in enumerate(given):
        said = block if isinstance(block, str) else (mapping(block) or {}).get("text")
        own = cut(said, system, index == len(given) - 1) if isinstance(said, str) else None
        if own is None or own == said:
            blocks.append(block)
        elif own:
            blocks.append(own if isinstance(block, str) else {**(mapping(block) or {}), "text": own})
    if len(blocks) == len(given) and all(one is other for one, other in zip(blocks, given, strict=True)):
        return fields
    return {**fields, name: blocks} if blocks else None


def _cut(text: str, system: bool, last: bool) -> str:
    return system_words(text) if system else authors_words(text, last=last)


def _unquoted(message: Message) -> Message:
    parts = tuple(map(_unquoted_part, message.parts))
    same = all(one is other for one, other in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _unquoted_part(part: Part) -> Part:
    match part:
        case Text(text) if (cut := without_injected(text)) is not text:
            return Text(cut)
        case ToolCall(arguments=text) if (cut := without_injected(text)) is not text:
            return replace(part, arguments=cut, raw=None)
        case ToolResult(text=text) | Opaque(text=text) if (cut := without_injected(text)) is not text:
            return replace(part, text=cut)
    return part


# Masking puts one line in the place of tool results (HIST-5).


def masked(raw: Mapping[str, Any] | Message, lines: Mapping[int, str], prefer: str) -> Mapping[str, Any] | Message:
    """Returns a copy of the message in which the tool results with these numbers hold only their line; see `Dialect.mask`.

    A dict stays in its own dialect, `prefer` where that can't be told. In a `Message` of role `tool`, images and opaque parts
    that follow a masked result belong to it and go."""
    if not isinstance(raw, Message):
        return dialect_of(raw, prefer).mask(raw, lines)
    parts, number, within, changed = list[Part](), 0, False, False
    for part in raw.parts:
        if isinstance(part, ToolResult):
            within = number in lines
            if within:
                part, changed = replace(part, text=lines[number]), True
            number += 1
        elif within and raw.role == "tool" and isinstance(part, Image | Opaque):
            continue
        else:
            within = False
        parts.append(part)
    return replace(raw, parts=tuple(parts)) if changed else raw


# Continues a conversation for another reader of it: the tool calls that are open are closed, and a user's turn is
# added. What was said stays as it is, byte for byte, so that the provider's prompt cache holds for the prefix. Only
# where some results of the last calls are in the last message already, and the provider wants all of them in one, is
# that message extended.


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


# Finds the messages with a call or a result that has lost its other half, which `compose` closes as text.


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
