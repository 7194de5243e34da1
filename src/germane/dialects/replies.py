"""Replies: the messages of a provider's answer, read from its JSON or from its stream of events.

A stream may end early. Then the words that came are read, and calls that came whole; a call that didn't is left out. Of a
stream that ends in an error nothing is read: its caller asks again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

Fields = dict[str, Any]

_LINE_END = re.compile("\r\n|\n|\r")
_ANSWERED = ("completed", "incomplete")
"""The states of a response that has its whole output; others are still under way, failed or were called off."""
_UNREAD = ("thinking", "redacted_thinking")


def read_reply(provider: str, text: str, *, events: bool) -> list[Fields]:
    """Returns the model's messages in the provider's shape, ready for `record`. `text` is the body of a successful answer,
    `events` says that it is a stream of server-sent events. Empty where there is nothing to record: text of another kind, an
    error, an answer that isn't there yet, and several answers, of which the caller's next request has the chosen one. Never
    raises for what `text` holds."""
    whole, streamed = _READERS[provider]
    if not events:
        return whole(_object(text))
    found = list(_events(text))
    return (
        []
        if any(event.get("error") or event.get("type") in ("error", "response.failed") for event in found)
        else streamed(found)
    )


def _object(text: str) -> Fields:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _events(text: str) -> Iterator[Fields]:
    """The data of the events that are JSON objects, in order."""
    data: list[str] = []
    for line in (*_LINE_END.split(text), ""):
        if line.startswith("data:"):
            data.append(line[5:])
        elif not line and data:
            if event := _object("\n".join(data)):
                yield event
            data = []


def _listed(value: object) -> list[Fields]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# Chat completions.


def _chat(body: Fields) -> list[Fields]:
    choices = _listed(body.get("choices"))
    message = choices[0].get("message") if len(choices) == 1 else None
    return [message] if isinstance(message, dict) else []


def _chat_stream(events: Iterable[Fields]) -> list[Fields]:
    words, refusal, calls, ended = list[str](), list[str](), dict[int, _Call](), False
    for event in events:
        for choice in _listed(event.get("choices")):
            if choice.get("index", 0) != 0:
                return []
            delta = _mapping(choice.get("delta"))
            words.append(_text(delta.get("content")))
            refusal.append(_text(delta.get("refusal")))
            ended = ended or choice.get("finish_reason") is not None
            for part in _listed(delta.get("tool_calls")):
                if isinstance(place := part.get("index", 0), int):
                    calls.setdefault(place, _Call()).add(part)
    message: Fields = {"role": "assistant", "content": "".join(words) or None}
    if said := "".join(refusal):
        message["refusal"] = said
    if ended and calls:
        message["tool_calls"] = [call.whole for call in calls.values()]
    return [message] if len(message) > 2 or message["content"] else []


@dataclass(slots=True)
class _Call:
    """A call that comes in pieces."""

    id: str = ""
    name: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)

    def add(self, part: Mapping[str, Any]) -> None:
        function = _mapping(part.get("function"))
        self.id = _text(part.get("id")) or self.id
        self.name.append(_text(function.get("name")))
        self.arguments.append(_text(function.get("arguments")))

    @property
    def whole(self) -> Fields:
        function = {"name": "".join(self.name), "arguments": "".join(self.arguments)}
        return {"id": self.id, "type": "function", "function": function}


# Responses.


def _responses(body: Fields) -> list[Fields]:
    return _listed(body.get("output")) if body.get("status") in _ANSWERED else []


def _responses_stream(events: Iterable[Fields]) -> list[Fields]:
    items, words = dict[int, Fields](), dict[int, list[str]]()
    for event in events:
        if ended := _responses(dict(_mapping(event.get("response")))):
            return ended
        place = event.get("output_index")
        if not isinstance(place, int):
            continue
        if event.get("type") == "response.output_text.delta":
            words.setdefault(place, []).append(_text(event.get("delta")))
        elif event.get("type") == "response.output_item.done" and isinstance(event.get("item"), dict):
            items[place] = event["item"]
    cut = {place: {"role": "assistant", "content": "".join(parts)} for place, parts in words.items() if place not in items}
    return [item for _, item in sorted((items | cut).items())]


# Anthropic's messages.


def _messages(body: Fields) -> list[Fields]:
    content = _listed(body.get("content")) if body.get("type") == "message" else []
    return [{"role": "assistant", "content": content}] if content else []


def _messages_stream(events: Iterable[Fields]) -> list[Fields]:
    blocks = dict[int, _Block]()
    for event in events:
        place = event.get("index")
        if not isinstance(place, int):
            continue
        if event.get("type") == "content_block_start":
            blocks[place] = _Block(dict(_mapping(event.get("content_block"))))
        elif place in blocks:
            blocks[place].add(event)
    content = [block.whole for _, block in sorted(blocks.items()) if block.can_be_read]
    return [{"role": "assistant", "content": content}] if content else []


@dataclass(slots=True)
class _Block:
    """A block that comes in pieces: how it starts, its words, and its input as JSON."""

    start: Fields
    words: list[str] = field(default_factory=list)
    input: list[str] = field(default_factory=list)
    ended: bool = False

    def add(self, event: Fields) -> None:
        delta = _mapping(event.get("delta"))
        self.words.append(_text(delta.get("text")))
        self.input.append(_text(delta.get("partial_json")))
        self.ended = self.ended or event.get("type") == "content_block_stop"

    @property
    def can_be_read(self) -> bool:
        kind = self.start.get("type")
        return bool("".join(self.words)) if kind == "text" else self.ended and kind not in _UNREAD

    @property
    def whole(self) -> Fields:
        if self.start.get("type") == "text":
            return {"type": "text", "text": _text(self.start.get("text")) + "".join(self.words)}
        given = "".join(self.input)
        return self.start | {"input": _object(given)} if given else self.start


_READERS: Mapping[str, tuple[Callable[[Fields], list[Fields]], Callable[[Iterable[Fields]], list[Fields]]]] = MappingProxyType(
    {
        "openai": (_chat, _chat_stream),
        "openai-responses": (_responses, _responses_stream),
        "anthropic": (_messages, _messages_stream),
    }
)
"""By the dialect's name: what reads a whole answer, and what reads a stream."""


# The id of an answer, by which a provider goes on from it.


_HEAD = 16_384
"""Characters at the beginning of a stream, in which its first event is."""


def reply_id(provider: str, text: str, *, events: bool) -> str | None:
    """Returns the id that the provider gave to the answer; None where there is none. Arguments as in `read_reply`. Never raises
    for what `text` holds."""
    if not events:
        return _text(_object(text).get("id")) or None
    name = {"openai-responses": "response", "anthropic": "message"}.get(provider)
    for event in _events(text[:_HEAD]):
        holder = event if name is None else _mapping(event.get(name))
        if found := _text(holder.get("id")):
            return found
    return None
