"""Verify reply: puts the caller's own objects back into a response, and proves that none was lost or altered.

A message that came back as it was sent becomes the caller's object again. Any other message is split into atoms: each text,
each part that isn't text, each further key. All atoms of the caller's messages must be in the response, under the same role and
in the same order, whatever was added between them. So the check accepts an addition inside a turn and two turns of one role
that were merged, but no changed word. Two things may be missing, because providers refuse them: germane's own keys (`id`,
`created_at`, `name`) and blank texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from germane.grpc.calling.outbound import SentMessage, fields_of
from germane.grpc.stubs import context_pb2

__all__ = ["Altered", "verify_reply"]

Atom = tuple[str, Any]

_ENVELOPE_KEYS = frozenset({"role", "content", "parts", "id", "created_at", "name"})
_ADDED_ROLES = ("system", "user")
"""Roles of messages that germane adds: mostly system; user only where a provider requires that the user begins."""
_ROLE_SYNONYMS = {"model": "assistant", "developer": "system"}


class Altered(Exception):
    """The response doesn't hold all of the caller's messages, in order and unaltered."""


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
        if _role(fields) == "system":
            among.append(_atoms(fields))
        if position < len(sent) and fields == spoken.fields(position) and not sent[position].represents_many:
            messages += sent[position].originals
            position += 1
            continue
        start, position = position, spoken.end_of_match(position, fields)
        matched = [index for index in range(start, position) if spoken.must_be_in_messages(index)]
        if any(sent[index].represents_many for index in matched):
            raise Altered
        if not (matched or _role(fields) in _ADDED_ROLES or not _atoms(fields)):
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
        available, role, offset, end = _atoms(fields), _role(fields), 0, start
        for index in range(start, len(self._sent)):
            if self.must_be_in_messages(index):
                if _role(self.fields(index)) != role or (after := _find(self.atoms(index), available, offset)) is None:
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


def _role(fields: dict[str, Any]) -> str:
    role = str(fields.get("role", ""))
    return _ROLE_SYNONYMS.get(role, role)
