"""Plan: what a kind of stored thing wants written, decided without I/O; and the ids of what is written.

A *plan* is a generator: it yields the reads it needs, is sent what was found, and returns a `Decision`: the changes to write
and the outcome to tell the caller. A store drives the plan inside one transaction, so what was read still holds when the
changes are written, and the plan never touches the store (sans-I/O, as in h11). `read` keeps the types:

    def plan() -> Plan[int]:
        found = yield from read(MessagesById(ids=("a",)))     # found is what that read answers
        return Decision(changes=(...,), outcome=len(found))
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Q = TypeVar("Q")
D = TypeVar("D")


class Read(Generic[T_co]):
    """A question to the store that is answered with a `T_co`, within the scope that asks: by a plan (`read`), or by anybody
    else (`ScopedStore.ask`)."""

    __slots__ = ()
    quick: ClassVar[bool] = False
    """Whether the answer takes microseconds: a store may then answer those that are asked together one after another."""


class StoreRead(Generic[T_co]):
    """A question to the store as a whole that is answered with a `T_co`, by a plan of the store or by anybody else
    (`Store.ask`): about what belongs to no scope, or to all of them. It is no `Read`, so that no plan of a scope can yield one
    (SCOPE-2)."""

    __slots__ = ()
    quick: ClassVar[bool] = False
    """See `Read.quick`."""


TextOf = Literal["nothing", "somebody", "its_owner", "sources"]
"""Where the text in a change comes from, and so what forgetting has to follow: it has no text but ids and names of kinds;
`somebody` gave it, and it is found by its own id; it is a part of a stored thing that the change names (a session, a block, the
items of an injection), and goes with this one; it may be made of the texts of other stored things, its `sources`."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """`thing` is the id of what a change stores, `sources` are the ids of all that its text was made of: it is forgotten with
    any of them. No sources mean that somebody gave the text."""

    thing: str
    sources: tuple[str, ...]


class Change:
    """One thing to write. Each domain declares its own; a store must know them all. Each declares where its text comes from
    (`text_of`): a class that doesn't can't be made. The store keeps the `derivation` of those with sources."""

    __slots__ = ()
    text_of: ClassVar[TextOf]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not hasattr(cls, "text_of"):
            raise TypeError(f"{cls.__name__} must declare text_of: forgetting has to know where its text comes from")
        if (cls.text_of == "sources") == (cls.derivation is Change.derivation):
            raise TypeError(f"{cls.__name__} must define derivation where its text may be made of sources, and only there")

    @property
    def derivation(self) -> Derivation | None:
        """What this change stores, with what that was made of; None for a change whose text has no sources."""
        return None


class StoreChange:
    """One thing to write that belongs to no scope, and holds no text of a scope's. It changes no content, so that it raises no
    revision."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What a plan of a scope returns."""

    changes: tuple[Change, ...]
    outcome: T


@dataclass(frozen=True, slots=True)
class StoreDecision(Generic[T]):
    """What a plan of the store returns."""

    changes: tuple[StoreChange, ...]
    outcome: T


Plan = Generator[Read[Any], Any, Decision[T]]
StorePlan = Generator[StoreRead[Any], Any, StoreDecision[T]]


@overload
def read(question: Read[T]) -> Generator[Read[Any], Any, T]: ...
@overload
def read(question: StoreRead[T]) -> Generator[StoreRead[Any], Any, T]: ...
def read(question: Any) -> Generator[Any, Any, Any]:
    """Yields `question` and returns its answer, with the answer's type."""
    return (yield question)


def store_change(*changes: StoreChange) -> StorePlan[None]:
    """A plan that makes these changes and reads nothing."""
    yield from ()
    return StoreDecision(changes, None)


def run_plan(plan: Generator[Q, Any, D], answer: Callable[[Q], Any]) -> D:
    """Drives a plan to its decision: each read that it yields is answered by `answer`. Raises what the plan and `answer`
    raise. Stores, tests and dry runs drive their plans with this."""
    try:
        question = next(plan)
        while True:
            question = plan.send(answer(question))
    except StopIteration as stop:
        decision: D = stop.value
        return decision


def replay(plan: Generator[Any, Any, D], answers: Mapping[type[Any], Any]) -> D:
    """Drives a plan with prepared answers, by the type of the read."""
    return run_plan(plan, lambda question: answers[type(question)])


# Ids are UUIDv7 (RFC 9562), which sort by the time they were made.


def uuid7(milliseconds: int, randomness: Callable[[int], int] = secrets.randbits) -> str:
    """A UUIDv7 of this Unix time in milliseconds; `randomness(n)` gives n random bits."""
    low = randomness(74)
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | low >> 62 << 64 | 0b10 << 62 | low & (1 << 62) - 1
    digits = f"{value:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
