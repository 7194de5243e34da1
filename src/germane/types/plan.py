"""Plan: what a domain wants written, decided without I/O.

A *plan* is a generator: it yields the reads it needs, is sent what was found, and returns a `Decision`: the changes to write
and the outcome to tell the caller. A store drives the plan inside one transaction, so what was read still holds when the
changes are written, and the domain never touches the store (sans-I/O, as in h11). `read` keeps the types:

    def plan() -> Plan[int]:
        found = yield from read(MessagesById(ids=("a",)))     # found is what that read answers
        return Decision(changes=(...,), outcome=len(found))
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Change", "Decision", "Plan", "Read", "read", "replay", "run_plan"]

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


def read(question: Read[T]) -> Generator[Read[Any], Any, T]:
    """Yields `question` and returns its answer, with the answer's type."""
    answer: T = yield question
    return answer


def run_plan(plan: Plan[T], answer: Callable[[Read[Any]], Any]) -> Decision[T]:
    """Drives a plan to its decision: each read that it yields is answered by `answer`. Raises what the plan and `answer`
    raise. Stores, tests and dry runs drive their plans with this."""
    try:
        question = next(plan)
        while True:
            question = plan.send(answer(question))
    except StopIteration as stop:
        decision: Decision[T] = stop.value
        return decision


def replay(plan: Plan[T], answers: Mapping[type[Read[Any]], Any]) -> Decision[T]:
    """Drives a plan with prepared answers, by the type of the read."""
    return run_plan(plan, lambda question: answers[type(question)])
