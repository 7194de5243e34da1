"""Outbound: a caller's messages as they go over the wire, each beside the object it was made from.

What is only a role and a text goes as that; anything else goes whole, as JSON. Of a conversation with more messages than
germane reads, the latest go one by one; what lies before them goes as one text, so that its size is still counted, and comes
back as the messages it stands for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.stubs import context_pb2

__all__ = ["MOST_BYTES", "MOST_MESSAGES", "Oversized", "Sent", "fields_of", "send"]

MOST_MESSAGES = 380
"""How many of the latest messages go one by one. The server's work grows with each, and of more than 400 it reads fewer."""
MOST_BYTES = 8 * 1024 * 1024
"""How much text goes at all: what is above takes longer to write and carry than there is."""
_LEADING = 16
"""How many system messages at the very beginning go one by one, however long the conversation."""
_BETWEEN = "\n\n- user:\n"
"""Costs about what a message costs besides its text."""
_NODE = 32
"""What a value inside a message is taken to weigh beside its text, in bytes."""


class Oversized(Exception):
    """More than `MOST_BYTES`."""


@dataclass(frozen=True, slots=True)
class Sent:
    """`wire` as it was sent for `originals`: one message, or the run of them that it stands for."""

    wire: context_pb2.Message
    originals: Sequence[Any]

    @property
    def represents_many(self) -> bool:
        return len(self.originals) > 1


def send(messages: Sequence[Any], request: context_pb2.AssembleContextRequest, *, all: bool = False) -> list[Sent]:
    """Puts `messages` into `request`, one by one if `all`. Raises `Oversized`, `InvalidInput`, and what JSON raises for what it
    can't hold."""
    left = [MOST_BYTES]
    lead, tail = (0, 0) if all else _ends(messages)
    sent = []
    for at, message in enumerate(messages):
        if lead <= at < tail:
            continue
        if at == tail and lead < tail:
            sent.append(_standing_in(messages[lead:tail], request, left))
        sent.append(Sent(_write(message, request, left), (message,)))
    return sent


def fields_of(wire: context_pb2.Message) -> dict[str, Any]:
    """A message of the wire as a provider's. Raises `ValueError` for one that isn't any."""
    if not wire.json:
        return {"role": wire.role, "content": wire.content}
    fields = json.loads(wire.json)
    if not isinstance(fields, dict):
        raise ValueError("a message isn't a JSON object")
    return fields


def _ends(messages: Sequence[Any]) -> tuple[int, int]:
    """Where the system messages at the beginning end, and where the latest begin: with a human's turn, so that no tool's
    result is parted from its call. Equal where everything goes one by one."""
    if len(messages) <= MOST_MESSAGES:
        return 0, 0
    first = len(messages) - MOST_MESSAGES
    tail = next((at for at in range(first, len(messages)) if _human(messages[at])), first)
    lead = next((at for at in range(min(_LEADING, tail)) if _role(messages[at]) not in ("system", "developer")), 0)
    return (lead, tail) if tail - lead > 1 else (0, 0)


def _human(message: Any) -> bool:
    if _role(message) != "user":
        return False
    content = message.get("content", message.get("parts"))
    listed = isinstance(content, list | tuple) and all(isinstance(part, Mapping) and "text" in part for part in content)
    return isinstance(content, str) or listed


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, Mapping) else ""


def _write(message: Any, request: context_pb2.AssembleContextRequest, left: list[int]) -> context_pb2.Message:
    if isinstance(message, dict) and len(message) == 2:
        role, content = message.get("role"), message.get("content")
        if isinstance(role, str) and isinstance(content, str):
            _take(len(content), left)
            try:
                return request.messages.add(role=role, content=content)
            except UnicodeEncodeError:  # a lone surrogate: JSON can hold it
                pass
    fields = _plain(message)
    _take(_weight(fields, left[0]), left)
    role = fields.get("role")
    role = role if isinstance(role, str) and role.isascii() else ""
    return request.messages.add(role=role, json=json.dumps(fields, default=_plain))


def _standing_in(run: Sequence[Any], request: context_pb2.AssembleContextRequest, left: list[int]) -> Sent:
    """The assistant's, since a human's turn comes next: so no provider's shape melts the two together."""
    texts: list[str] = []
    for message in run:
        text = message.get("content") if isinstance(message, dict) else None
        if isinstance(text, str) and len(message) < 4:
            texts.append(text)
            _take(len(text) + _NODE, left)
        else:
            _take(_weight(message, left[0], texts), left)
    said = _BETWEEN.join(texts).encode("utf-8", "replace").decode()
    return Sent(request.messages.add(role="assistant", content=said), run)


def _plain(value: Any) -> Any:
    """What JSON doesn't know by itself: mappings of other kinds, an SDK's own objects, times."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, date):
        return value.isoformat()
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type) and isinstance(dumped := dump(mode="json", exclude_none=True), Mapping):
        return dict(dumped)
    raise InvalidInput(f"a message holds {type(value).__name__}: give what JSON can hold")


def _weight(value: Any, most: int, texts: list[str] | None = None) -> int:
    """The bytes that `value` takes, roughly; it stops counting above `most`. Strings found on the way go to `texts`."""
    weight, waiting = 0, [value]
    while waiting and weight <= most:
        one = waiting.pop()
        weight += _NODE
        if isinstance(one, str):
            weight += len(one)
            if texts is not None:
                texts.append(one)
        elif isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return weight


def _take(weight: int, left: list[int]) -> None:
    left[0] -= weight
    if left[0] < 0:
        raise Oversized
