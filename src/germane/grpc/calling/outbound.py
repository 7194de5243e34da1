"""Outbound: writes the caller's messages into a request, and remembers which object each was made from.

A message that has only a role and a text is written as these two; any other message is written whole, as JSON. A conversation
with more messages than the server reads in full is shortened: the latest messages are written one by one, and the run before
them becomes one message with the texts of all, so that the server can still count its size. `verify_reply` puts the run back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.stubs import context_pb2
from germane.types.dumped import dump

__all__ = ["MAX_BYTES", "MAX_MESSAGES", "Oversized", "SentMessage", "add_messages", "fields_of", "json_of"]

MAX_MESSAGES = 380
"""Messages that are written one by one, counted from the end. The server's work grows with each, and of more than 400 it reads
only the last 100 in full."""
MAX_BYTES = 8 * 1024 * 1024
"""Text of one request. More takes longer to write and send than a call may take."""
_MAX_LEADING = 16
"""System messages at the very beginning that are written one by one, however long the conversation."""
_SEPARATOR = "\n\n- user:\n"
"""Costs about as many tokens as a message costs besides its text."""
_NODE_BYTES = 32
"""Estimated size of a value inside a message, besides its text."""


class Oversized(Exception):
    """The messages hold more than `MAX_BYTES`."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A wire message and the caller's messages that it stands for: one, or a run of them."""

    wire: context_pb2.Message
    originals: Sequence[Any]

    @property
    def represents_many(self) -> bool:
        return len(self.originals) > 1


class _ByteBudget:
    """Counts down from `MAX_BYTES`."""

    def __init__(self) -> None:
        self.remaining = MAX_BYTES

    def spend(self, size: int) -> None:
        """Raises `Oversized` when the budget is used up."""
        self.remaining -= size
        if self.remaining < 0:
            raise Oversized


def add_messages(
    messages: Sequence[Any],
    request: context_pb2.AssembleContextRequest,
    *,
    all: bool = False,
) -> list[SentMessage]:
    """Adds `messages` to the request, each as a message of its own if `all`.

    Raises `Oversized`, `InvalidInput`, and the errors of `json.dumps` for a value that JSON can't hold.
    """
    budget = _ByteBudget()
    lead, tail = (0, 0) if all else _run_bounds(messages)
    sent = []
    for index, message in enumerate(messages):
        if lead <= index < tail:
            continue
        if index == tail and lead < tail:
            sent.append(_add_run(messages[lead:tail], request, budget))
        sent.append(SentMessage(_add_message(message, request, budget), (message,)))
    return sent


def json_of(system: Any) -> str:
    """Returns a system prompt as JSON. Raises `Oversized`, and `InvalidInput` for a value that JSON can't hold."""
    _ByteBudget().spend(_estimated_size(system, MAX_BYTES))
    return json.dumps(system, default=_plain)


def fields_of(wire: context_pb2.Message) -> dict[str, Any]:
    """Returns a wire message as the provider's dict. Raises `ValueError` for JSON that is no object."""
    if not wire.json:
        return {"role": wire.role, "content": wire.content}
    fields = json.loads(wire.json)
    if not isinstance(fields, dict):
        raise ValueError("a message isn't a JSON object")
    return fields


def _run_bounds(messages: Sequence[Any]) -> tuple[int, int]:
    """Returns the first index of the run that is written as one message, and the index after its end; equal where there is no
    run. The run starts after the leading system messages and ends before a user's turn, so that no tool result is separated
    from its call."""
    if len(messages) <= MAX_MESSAGES:
        return 0, 0
    first = len(messages) - MAX_MESSAGES
    tail = next((index for index in range(first, len(messages)) if _is_users_turn(messages[index])), first)
    leading = range(min(_MAX_LEADING, tail))
    lead = next((index for index in leading if _role(messages[index]) not in ("system", "developer")), 0)
    return (lead, tail) if tail - lead > 1 else (0, 0)


def _is_users_turn(message: Any) -> bool:
    if _role(message) != "user":
        return False
    content = message.get("content", message.get("parts"))
    listed = isinstance(content, list | tuple) and all(isinstance(part, Mapping) and "text" in part for part in content)
    return isinstance(content, str) or listed


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, Mapping) else ""


def _add_message(message: Any, request: context_pb2.AssembleContextRequest, budget: _ByteBudget) -> context_pb2.Message:
    if isinstance(message, dict) and len(message) == 2:
        role, content = message.get("role"), message.get("content")
        if isinstance(role, str) and isinstance(content, str):
            budget.spend(len(content))
            try:
                return request.messages.add(role=role, content=content)
            except UnicodeEncodeError:  # a lone surrogate: JSON can hold it
                pass
    fields = _plain(message)
    budget.spend(_estimated_size(fields, budget.remaining))
    role = fields.get("role")
    role = role if isinstance(role, str) and role.isascii() else ""
    return request.messages.add(role=role, json=json.dumps(fields, default=_plain))


def _add_run(run: Sequence[Any], request: context_pb2.AssembleContextRequest, budget: _ByteBudget) -> SentMessage:
    """Adds one message with the texts of the run. Its role is the assistant's, because a user's turn comes next and some
    providers merge neighbours of one role."""
    texts: list[str] = []
    for message in run:
        text = message.get("content") if isinstance(message, dict) else None
        if isinstance(text, str) and len(message) < 4:
            texts.append(text)
            budget.spend(len(text) + _NODE_BYTES)
        else:
            budget.spend(_estimated_size(message, budget.remaining, texts))
    content = _SEPARATOR.join(texts).encode("utf-8", "replace").decode()
    return SentMessage(request.messages.add(role="assistant", content=content), run)


def _plain(value: Any) -> Any:
    """Returns a value that JSON doesn't know as one that it knows: other mappings, an SDK's own objects, dates. Raises
    `InvalidInput` for any other type."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, date):
        return value.isoformat()
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type) and isinstance(dumped := dump(mode="json", exclude_none=True), Mapping):
        return dict(dumped)
    raise InvalidInput(f"a message holds {type(value).__name__}: give what JSON can hold")


def _estimated_size(value: Any, limit: int, texts: list[str] | None = None) -> int:
    """Returns roughly how many bytes `value` takes; stops counting above `limit`. Adds the strings inside it to `texts`."""
    size, stack = 0, [value]
    while stack and size <= limit:
        inner = stack.pop()
        size += _NODE_BYTES
        if isinstance(inner, str):
            size += len(inner)
            if texts is not None:
                texts.append(inner)
        elif isinstance(inner, Mapping):
            stack += inner.values()
        elif isinstance(inner, list | tuple):
            stack += inner
        elif (dumped := dump(inner)) is not None:
            stack.append(dumped)
    return size
