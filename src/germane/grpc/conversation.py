"""Conversation: a request's messages on their way to the front and back. What the front leaves as it was goes back as the very
same wire message, never encoded anew; and of a conversation that is too long to be read in time, only the end is read, message
by message, while the rest is one text to be counted (RPC-4)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message as Wire

from germane.grpc.from_wire import WireMessage, message
from germane.grpc.json_text import JsonText
from germane.grpc.to_wire import text
from germane.types.limits import MESSAGES, within
from germane.types.message import Message

__all__ = ["Conversation"]

M = TypeVar("M", bound=Wire)

_MANY = 400
"""Messages that are read one by one: a few milliseconds."""
_NEWEST = 100
"""Of more than those, this many of the last."""


class Conversation:
    """`raw` is what to give to the front. `provider` is the shape it is in; conversations of others than `openai` are always
    read as a whole, as only there a message stands for itself."""

    def __init__(self, sent: Sequence[Any], provider: str) -> None:
        within("messages", len(sent), MESSAGES)
        self._sent, self._json_text = sent, JsonText()
        first, last = _middle(sent) if provider == "openai" and len(sent) > _MANY else (0, 0)
        raw = [message(sent[at], at, self._json_text) for at in range(first)]
        self._spans = [(at, at + 1) for at in range(first)]
        if last > first:
            raw.append({"role": "user", "content": "\n\n".join(map(_line, sent[first:last]))})
            self._spans.append((first, last))
        raw += [message(sent[at], at, self._json_text) for at in range(last, len(sent))]
        self._spans += [(at, at + 1) for at in range(last, len(sent))]
        self.raw: tuple[dict[str, Any], ...] = tuple(raw)
        self._json = provider != "openai" or any(getattr(one, "json", "") for one in sent)

    def answered(self, messages: Sequence[Mapping[str, Any] | Message], kind: Callable[..., M]) -> Iterator[M]:
        """The messages of an answer. `kind` makes a wire message of role and content, and JSON where that says too little."""
        spans = {id(raw): span for raw, span in zip(self.raw, self._spans, strict=True)}
        for one in messages:
            span = spans.get(id(one))
            if span is None:
                yield self._made(one, kind)
            else:
                yield from self._sent[span[0] : span[1]]

    def _made(self, raw: Mapping[str, Any] | Message, kind: Callable[..., M]) -> M:
        if isinstance(raw, Message):
            return kind(role=raw.role, content=text(raw.content))
        content = raw.get("content")
        plain = isinstance(content, str)
        given = {"role": text(str(raw.get("role", ""))), "content": text(content) if isinstance(content, str) else ""}
        if self._json or not plain or len(raw) > 2:
            given["json"] = json.dumps(raw)
        return kind(**given)


def _middle(sent: Sequence[WireMessage]) -> tuple[int, int]:
    """What isn't read one by one: from after the system messages at the beginning to where only the last are left, but never
    ending between a tool's call and its result."""
    first = 0
    while first < len(sent) and sent[first].role == "system":
        first += 1
    last = max(first, len(sent) - _NEWEST)
    while last < len(sent) and _answers(sent[last], last):
        last += 1
    return (first, last) if last < len(sent) else (0, 0)


def _answers(one: WireMessage, at: int) -> bool:
    """Whether it may hang on the message before it."""
    return message(one, at, JsonText()).get("role") not in ("user", "system")


def _line(one: WireMessage) -> str:
    """About as many tokens as the message by itself: a role and what stands around it come to four."""
    return f"- {one.role or 'json'}:\n{getattr(one, 'json', '') or one.content}"
