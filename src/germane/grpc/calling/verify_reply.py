"""Reunite: the messages of an answer with the objects the caller gave, and the proof that none of them was lost or altered.

A message that came back as it was sent becomes the caller's own object again. One that didn't is taken apart: what the caller
said in it, each text, each part, each further key, has to be there, under the same role and in the same order, whatever was
put between. So an addition inside a turn passes, two turns of one role written as one pass, a changed word doesn't. Left out
may be what providers refuse: germane's own keys (`id`, `created_at`, `name`) and blank texts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from germane.grpc.calling.outbound import Sent, fields_of
from germane.grpc.stubs import context_pb2

__all__ = ["Altered", "verify_reply"]

_ENVELOPE = frozenset({"role", "content", "parts", "id", "created_at", "name"})
_ADDED = ("system", "user")
"""Germane speaks as the system; as the user only where a provider wants the conversation begun by one."""
_SAME = {"model": "assistant", "developer": "system"}


class Altered(Exception):
    """Not all of the caller's messages are in the answer, in order and unaltered."""


def verify_reply(sent: Sequence[Sent], answer: context_pb2.AssembleContextResponse) -> tuple[list[Any], Any]:
    """The messages to send, and the system prompt where the provider keeps it apart, else None. Raises `Altered`, and
    `ValueError` for what isn't JSON."""
    system = json.loads(answer.system_json) if answer.system_json else None
    if not (system is None or isinstance(system, str | list)):
        raise Altered
    said = _Said(sent, apart=system is not None)
    out: list[Any] = []
    at = 0
    for wire in answer.messages:
        while at < len(sent) and said.moved(at):
            at += 1
        if at < len(sent) and wire == sent[at].wire:
            if sent[at].represents_many:  # what had to stand before an assistant's turn needn't stand before the caller's own
                out = [one for one in out if not isinstance(one, dict) or one.get("role") != "user"]
            out += sent[at].originals
            at += 1
            continue
        fields = fields_of(wire)
        if at < len(sent) and fields == said.fields(at) and not sent[at].represents_many:
            out += sent[at].originals
            at += 1
            continue
        begin, at = at, said.reached(at, fields)
        taken = [one for one in range(begin, at) if said.atoms(one) and not said.moved(one)]
        if any(sent[one].represents_many for one in taken) or not (taken or _role(fields) in _ADDED or not _atoms(fields)):
            raise Altered
        same = len(taken) == 1 and fields == said.fields(taken[0])
        out.append(sent[taken[0]].originals[0] if same else fields)
    if any(said.atoms(one) and not said.moved(one) for one in range(at, len(sent))):
        raise Altered
    _prove_system([said.atoms(one) for one in range(len(sent)) if said.moved(one)], system)
    return out, system


class _Said:
    """What the caller said, taken apart when it is first needed: mostly that is never."""

    def __init__(self, sent: Sequence[Sent], *, apart: bool) -> None:
        self._sent, self._apart = sent, apart
        self._fields: dict[int, dict[str, Any]] = {}
        self._atoms: dict[int, list[tuple[str, Any]]] = {}

    def fields(self, at: int) -> dict[str, Any]:
        if at not in self._fields:
            self._fields[at] = fields_of(self._sent[at].wire)
        return self._fields[at]

    def atoms(self, at: int) -> list[tuple[str, Any]]:
        if at not in self._atoms:
            self._atoms[at] = _atoms(self.fields(at))
        return self._atoms[at]

    def moved(self, at: int) -> bool:
        """Whether it belongs into the system prompt, which this provider keeps apart."""
        return self._apart and _SAME.get(role := self._sent[at].wire.role, role) == "system"

    def reached(self, at: int, fields: dict[str, Any]) -> int:
        """How far from `at` on one message of the answer, `fields`, holds what was said: past the last that is in it."""
        have, role, found, reached = _atoms(fields), _role(fields), 0, at
        for one in range(at, len(self._sent)):
            if (want := self.atoms(one)) and not self.moved(one):
                if _role(self.fields(one)) != role or (end := _within(want, have, found)) is None:
                    break
                found, reached = end, one + 1
        return reached


def _within(want: Sequence[Any], have: Sequence[Any], start: int) -> int | None:
    """Where `want` ends in `have`, in order from `start` on, with anything between; None where it isn't there."""
    for atom in want:
        try:
            start = have.index(atom, start) + 1
        except ValueError:
            return None
    return start


def _prove_system(moved: Iterable[Sequence[tuple[str, Any]]], system: Any) -> None:
    """Each text, or part, of the caller's system messages is in the system prompt, in order."""
    joined = system if isinstance(system, str) else "\n\n".join(text for part in system or () if (text := _text(part)))
    start = 0
    for atoms in moved:
        for key, value in atoms:
            if key == "text":
                found = joined.find(value, start)
                if found < 0:
                    raise Altered
                start = found + len(value)
            elif key == "part" and (not isinstance(system, list) or value not in system):
                raise Altered


def _atoms(fields: dict[str, Any]) -> list[tuple[str, Any]]:
    """What is said in a message, piece by piece."""
    content = fields.get("content", fields.get("parts"))
    parts = content if isinstance(content, list) else [content]
    atoms = []
    for part in parts:
        text = _text(part)
        if text is None:
            atoms += [("part", part)] if part else []
        elif text.strip():
            atoms.append(("text", text))
    return atoms + [(key, fields[key]) for key in sorted(fields) if key not in _ENVELOPE and fields[key] is not None]


def _text(part: Any) -> str | None:
    """The text of a part that is nothing but that."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and isinstance(text := part.get("text"), str):
        rest = {key: value for key, value in part.items() if key != "text"}
        if not rest or rest == {"type": "text"}:
            return text
    return None


def _role(fields: dict[str, Any]) -> str:
    role = str(fields.get("role", ""))
    return _SAME.get(role, role)
