"""Conversation: writes the caller's messages into a request, and puts the same objects back into the response.

A message that has only a role and a text is written as these two; any other message is written whole, as JSON. A
conversation with more messages than the server reads in full is shortened: the latest messages are written one by one, and
the run before them becomes one message with the texts of all, so that the server can still count its size. `verify_reply`
puts the run back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from germane.api.remote.fallback import Fallback
from germane.errors import InvalidInput
from germane.grpc.messages import context_pb2
from germane.types.nested_data import dump

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


class Oversized(Fallback):
    """The messages hold more than `MAX_BYTES`."""

    def __init__(self) -> None:
        super().__init__("client_error:oversized")


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


def add_messages(messages: Sequence[Any], request: context_pb2.AssembleContextRequest) -> list[SentMessage]:
    """Adds `messages` to the request. Raises `Oversized`, `InvalidInput`, and the errors of `json.dumps` for a value that JSON
    can't hold."""
    budget = _ByteBudget()
    lead, tail = _run_bounds(messages)
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
    raise InvalidInput(f"a message holds {type(value).__name__}", advice="give what JSON can hold")


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


# The check of a reply. A message that came back as it was sent becomes the caller's object again. Any other message is
# split into atoms: each text, each part that isn't text, each further key. All atoms of the caller's messages must be
# in the response, under the same role and in the same order, whatever was added between them. So the check accepts an
# addition inside a turn and two turns of one role that were merged, but no changed word. Two things may be missing,
# because providers refuse them: germane's own keys (`id`, `created_at`, `name`) and blank texts.


Atom = tuple[str, Any]

_ENVELOPE_KEYS = frozenset({"role", "content", "parts", "id", "created_at", "name"})
_ADDED_ROLES = ("system", "user")
"""Roles of messages that germane adds: mostly system; user only where a provider requires that the user begins."""
_ROLE_SYNONYMS = {"model": "assistant", "developer": "system"}


class Altered(Fallback):
    """The response doesn't hold all of the caller's messages, in order and unaltered."""

    def __init__(self) -> None:
        hint = "messages in another shape than that of the model's own provider need its name (provider='openai-responses')"
        super().__init__("client_error:altered", hint)


def verify_reply(
    sent: Sequence[SentMessage], answer: context_pb2.AssembleContextResponse, own_system: Any = None, *, apart: bool = False
) -> tuple[list[Any], Any]:
    """Returns the messages to send to the model, and the system prompt where the provider keeps it apart, else None. `apart`
    says that the provider does so; an answer without a system prompt doesn't tell. `own_system` is the caller's own prompt
    beside the messages, of which no word may be missing either.

    Raises `Altered`, and `ValueError` for invalid JSON.
    """
    system = json.loads(answer.system_json) if answer.system_json else None
    if not (system is None or isinstance(system, str | list)):
        raise Altered
    spoken = _SentAtoms(sent, system_apart=apart or system is not None)
    messages: list[Any] = []
    among: list[list[Atom]] = []  # the atoms of system messages among the others
    position = 0  # of the next message of `sent` that has to be found
    for wire in answer.messages:
        while position < len(sent) and spoken.in_system_prompt(position) and wire != sent[position].wire:
            position += 1
        if position < len(sent) and wire == sent[position].wire:
            if sent[position].represents_many:
                # the server had to put a user's message before this stand-in, an assistant's; the caller's own don't need it
                messages = [added for added in messages if not isinstance(added, dict) or added.get("role") != "user"]
            messages += sent[position].originals
            if spoken.in_system_prompt(position):
                among.append(spoken.atoms(position))
            position += 1
            continue
        fields = fields_of(wire)
        if _standard_role(fields) == "system":
            among.append(_atoms(fields))
        if position < len(sent) and fields == spoken.fields(position) and not sent[position].represents_many:
            messages += sent[position].originals
            position += 1
            continue
        start, position = position, spoken.end_of_match(position, fields)
        matched = [index for index in range(start, position) if spoken.must_be_in_messages(index)]
        if any(sent[index].represents_many for index in matched):
            raise Altered
        if not (matched or _standard_role(fields) in _ADDED_ROLES or not _atoms(fields)):
            raise Altered
        same = len(matched) == 1 and fields == spoken.fields(matched[0])
        messages.append(sent[matched[0]].originals[0] if same else fields)
    if any(spoken.must_be_in_messages(index) for index in range(position, len(sent))):
        raise Altered
    inside = [spoken.atoms(index) for index in range(len(sent)) if spoken.in_system_prompt(index)]
    inside = [atoms for atoms in inside if not any(_find(atoms, each, 0) is not None for each in among)]
    beside = own_system if isinstance(own_system, dict) and "parts" in own_system else {"content": own_system}
    _verify_system([_atoms(beside), *inside], system)
    return messages, system


class _SentAtoms:
    """The atoms of the sent messages, computed on demand: most replies need none."""

    def __init__(self, sent: Sequence[SentMessage], *, system_apart: bool) -> None:
        self._sent, self._system_apart = sent, system_apart
        self._fields: dict[int, dict[str, Any]] = {}
        self._atoms: dict[int, list[Atom]] = {}

    def fields(self, index: int) -> dict[str, Any]:
        if index not in self._fields:
            self._fields[index] = fields_of(self._sent[index].wire)
        return self._fields[index]

    def atoms(self, index: int) -> list[Atom]:
        if index not in self._atoms:
            self._atoms[index] = _atoms(self.fields(index))
        return self._atoms[index]

    def in_system_prompt(self, index: int) -> bool:
        """Whether the message belongs into the system prompt, which this provider keeps apart."""
        return self._system_apart and _ROLE_SYNONYMS.get(role := self._sent[index].wire.role, role) == "system"

    def must_be_in_messages(self, index: int) -> bool:
        return bool(self.atoms(index)) and not self.in_system_prompt(index)

    def end_of_match(self, start: int, fields: dict[str, Any]) -> int:
        """Returns the index after the last sent message, from `start` on, whose atoms are all in the one message `fields`."""
        available, role, offset, end = _atoms(fields), _standard_role(fields), 0, start
        for index in range(start, len(self._sent)):
            if self.must_be_in_messages(index):
                if _standard_role(self.fields(index)) != role or (after := _find(self.atoms(index), available, offset)) is None:
                    break
                offset, end = after, index + 1
        return end


def _find(wanted: Sequence[Atom], available: Sequence[Atom], start: int) -> int | None:
    """Returns the index in `available` after the last of `wanted`, which must occur in order from `start` on, with anything
    between. Returns None where they don't."""
    for atom in wanted:
        try:
            start = available.index(atom, start) + 1
        except ValueError:
            return None
    return start


def _verify_system(messages: Iterable[Sequence[Atom]], system: Any) -> None:
    """Raises `Altered` unless the system prompt holds each text and part of the caller's system messages, in order."""
    joined = system if isinstance(system, str) else "\n\n".join(text for part in system or () if (text := _text(part)))
    start = 0
    for atoms in messages:
        for key, value in atoms:
            if key == "text":
                position = joined.find(value, start)
                if position < 0:
                    raise Altered
                start = position + len(value)
            elif key == "part" and (not isinstance(system, list) or value not in system):
                raise Altered


def _atoms(fields: dict[str, Any]) -> list[Atom]:
    """Splits a message into its texts, other parts, and further keys."""
    content = fields.get("content", fields.get("parts"))
    parts = content if isinstance(content, list) else [content]
    atoms = []
    for part in parts:
        text = _text(part)
        if text is None:
            atoms += [("part", part)] if part else []
        elif text.strip():
            atoms.append(("text", text))
    return atoms + [(key, fields[key]) for key in sorted(fields) if key not in _ENVELOPE_KEYS and fields[key] is not None]


def _text(part: Any) -> str | None:
    """Returns the text of a part that holds nothing else, None for any other part."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(text := part.get("text"), str):
        rest = {key: value for key, value in part.items() if key != "text"}
        if not rest or rest == {"type": "text"}:
            return text
    return None


def _standard_role(fields: dict[str, Any]) -> str:
    role = str(fields.get("role", ""))
    return _ROLE_SYNONYMS.get(role, role)
