"""Change: what a domain wants written, decided without I/O.

A *plan* is a generator: it yields the reads it needs, is sent what was found, and returns a `Decision`: the changes to write
and the outcome to tell the caller. A store drives the plan inside one transaction, so what was read still holds when the
changes are written, and the domain never touches the store (sans-I/O, as in h11). Two helpers keep the types:

    def plan() -> Plan[int]:
        found = yield from ask(MessagesById(ids=("a",)))     # found is what that read answers
        return Decision(changes=(...,), outcome=len(found))
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Change", "Decision", "Plan", "Read", "ask", "replay"]

T = TypeVar("T")


class Read(Generic[T]):
    """A question to the store that is answered with a `T`, within the plan's own scope."""

    __slots__ = ()


class Change:
    """One thing to write. Each domain declares its own; a store must know them all."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    changes: tuple[Change, ...]
    outcome: T


Plan = Generator[Read[Any], Any, Decision[T]]


def ask(read: Read[T]) -> Generator[Read[Any], Any, T]:
    """Yield `read` and hand back its answer with its type."""
    answer: T = yield read
    return answer


def replay(plan: Plan[T], answers: dict[type[Read[Any]], Any]) -> Decision[T]:
    """Drive a plan with prepared answers, by the type of the read: how tests and dry runs do it."""
    try:
        read = next(plan)
        while True:
            read = plan.send(answers[type(read)])
    except StopIteration as stop:
        decision: Decision[T] = stop.value
        return decision
