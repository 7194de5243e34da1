"""Placed: what became of some things of an export that were to be restored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from germane.types.plan import Change, Decision

__all__ = ["OTHER", "TAKEN", "Clash", "Placed", "decided"]


class Clash(NamedTuple):
    """A thing that can't be stored, by its place among those given, and the reason."""

    place: int
    why: str


@dataclass(slots=True)
class Placed:
    """What became of some things: how many were `added`, `known` already, not stored because they are `forgotten` here, or
    `clash` with what is stored."""

    added: int = 0
    known: int = 0
    forgotten: int = 0
    clashes: list[Clash] = field(default_factory=list)

    def clash(self, place: int, why: str) -> None:
        self.clashes.append(Clash(place, why))


TAKEN = "its id belongs to another scope of this store"
OTHER = "its id is stored already, with other content"


def decided(placed: Placed, changes: list[Change], strict: bool) -> Decision[Placed]:
    """Returns the decision, which counts the changes as added; `strict`: where anything clashes, nothing is stored."""
    if strict and placed.clashes:
        return Decision((), placed)
    placed.added = len(changes)
    return Decision(tuple(changes), placed)
