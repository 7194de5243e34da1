"""Wire conversation: a request's messages on their way to the API and back; unchanged ones stay the same object.

An unchanged message is returned as the very wire message that came, without encoding it again. Of a conversation that is too
long to be parsed in time only the last messages are parsed; the rest becomes one text whose tokens are counted (RPC-4).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message as ProtobufMessage

from germane.api.org_turns import by_turns
from germane.grpc.from_wire import WireMessage, message
from germane.grpc.json_text import JsonText
from germane.grpc.to_wire import text
from germane.types.limits import MESSAGES, within
from germane.types.message import Message

__all__ = ["WireConversation"]

M = TypeVar("M", bound=ProtobufMessage)

_MAX_PARSED = 400
"""Messages that are all parsed, which takes a few milliseconds."""
_PARSED_OF_LONG = 100
"""Of a conversation with more messages, how many of the last are parsed."""


class WireConversation:
    """`raw` are the messages for the API, in the shape of a provider; each stands for the range of `sent` at the same place in
    `ranges`."""

    def __init__(
        self, sent: Sequence[Any], raw: Sequence[dict[str, Any]], ranges: Sequence[tuple[int, int]], *, uses_json: bool
    ) -> None:
        self.raw = tuple(raw)
        self._sent, self._ranges, self._uses_json = sent, ranges, uses_json

    @classmethod
    async def of(cls, sent: Sequence[Any], provider: str) -> WireConversation:
        """Reads a conversation in the shape of `provider`; others have their turn meanwhile. Only conversations in the shape of
        `openai` are shortened, because only there each message is independent of the others. Raises `InvalidInput` for too many
        messages, `Refused` for one that can't be parsed."""
        within("messages", len(sent), MESSAGES)
        texts = JsonText()
        first, last = _condensed_range(sent) if provider == "openai" and len(sent) > _MAX_PARSED else (0, 0)
        raw = await by_turns(sent[:first], lambda wire, index: message(wire, index, texts))
        ranges = [(index, index + 1) for index in range(first)]
        if last > first:
            condensed = await by_turns(sent[first:last], lambda wire, _: _as_text(wire))
            raw.append({"role": "user", "content": "\n\n".join(condensed)})
            ranges.append((first, last))
        raw += await by_turns(sent[last:], lambda wire, index: message(wire, last + index, texts))
        ranges += [(index, index + 1) for index in range(last, len(sent))]
        return cls(sent, raw, ranges, uses_json=provider != "openai" or any(getattr(wire, "json", "") for wire in sent))

    def to_wire(self, messages: Sequence[Mapping[str, Any] | Message], make: Callable[..., M]) -> Iterator[M]:
        """Yields the wire messages of an assembled context, the request's own where they are unchanged.

        `make` makes a wire message of `role`, `content` and, where these two can't hold the message, `json`.
        """
        ranges = {id(raw): bounds for raw, bounds in zip(self.raw, self._ranges, strict=True)}
        for raw in messages:
            bounds = ranges.get(id(raw))
            if bounds is None:
                yield self._made(raw, make)
            else:
                yield from self._sent[bounds[0] : bounds[1]]

    def _made(self, raw: Mapping[str, Any] | Message, make: Callable[..., M]) -> M:
        if isinstance(raw, Message):
            return make(role=raw.role, content=text(raw.content))
        content = raw.get("content")
        plain = isinstance(content, str)
        fields = {"role": text(str(raw.get("role", ""))), "content": text(content) if isinstance(content, str) else ""}
        if self._uses_json or not plain or len(raw) > 2:
            fields["json"] = json.dumps(raw)
        return make(**fields)


def _condensed_range(sent: Sequence[WireMessage]) -> tuple[int, int]:
    """Returns the range of messages that become one text: from the end of the leading system messages to the last
    `_PARSED_OF_LONG`, or later, so that no tool result is separated from its call. Returns (0, 0) where that leaves nothing."""
    first = 0
    while first < len(sent) and sent[first].role == "system":
        first += 1
    last = max(first, len(sent) - _PARSED_OF_LONG)
    while last < len(sent) and _may_depend(sent[last], last):
        last += 1
    return (first, last) if last < len(sent) else (0, 0)


def _may_depend(wire: WireMessage, index: int) -> bool:
    """Whether the message may belong to the one before it, as a tool's result belongs to its call."""
    return message(wire, index, JsonText()).get("role") not in ("user", "system")


def _as_text(wire: WireMessage) -> str:
    """Costs about as many tokens as the message itself: its role and envelope cost four."""
    return f"- {wire.role or 'json'}:\n{getattr(wire, 'json', '') or wire.content}"
