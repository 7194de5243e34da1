"""Session entries: what a replayed session consists of: events, moves on the task stack, labelled steps, delegation points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["KINDS", "Entry", "Handover", "LabelledStep", "Move", "MoveKind", "Need", "NeedKind", "SessionEvent"]

MoveKind = Literal["push", "pop", "fail", "block", "resume", "branch", "inject"]
NeedKind = Literal["root", "path", "results", "failures", "read", "decision", "constraint"]
KINDS: tuple[NeedKind, ...] = ("root", "path", "results", "failures", "read", "decision", "constraint")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    """A message where `role` is given, else a typed event with its content and outcome."""

    id: str
    type: str
    content: Any
    outcome: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A change of the task stack. `id` is that of the message in which a plain pipeline would read it; `text` the goal, the
    result or the reason; `name` the branch, or the goal of the task that is resumed."""

    id: str
    kind: MoveKind
    text: str
    name: str = ""
    goal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One thing that a step needs. `quote` is the text that says it; it occurs in these entries and in no others."""

    kind: NeedKind
    quote: str
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledStep:
    """A request in the session: its text, how deep the stack is (the root alone is 0), and what the answer needs."""

    id: str
    prompt: str
    depth: int
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handover:
    """A point at which a task could be given to another agent: the task, and what that agent needs."""

    id: str
    task: str
    needs: tuple[Need, ...]


Entry = SessionEvent | Move | LabelledStep | Handover
