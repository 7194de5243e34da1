"""Operation: what a handle's method says of itself, so that services and clients can offer it.

`operation` marks the method. Its name, arguments and result come from the method; `api/operations.py` reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

Right = Literal["read", "write"]
"""`read` allows to assemble, search, look through and export; `write` allows to store, change, consolidate and forget."""

ROOT = "/v1"
"""What the paths of the operations begin with over HTTP."""
AGENTS = f"{ROOT}/agents"

F = TypeVar("F", bound=Callable[..., Any])


class Data(Protocol):
    """A class of data that stands for a result which holds more, such as a trace."""

    @classmethod
    def of(cls, result: Any, /) -> Any:
        """Returns the data of a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What `operation` was given."""

    right: Right
    also_reads: bool = False
    of_org: bool = False
    of_agent: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    takes: Mapping[str, Any] = field(default_factory=dict)
    rpc: str = ""
    gives: type[Data] | None = None


def operation_path(name: str, agent: str, *, of_org: bool = False) -> str:
    """Returns the path of an operation over HTTP. `agent` is percent-encoded; an operation of the whole org has none."""
    place = name.replace(".", "/")
    return f"{ROOT}/{place}" if of_org else f"{AGENTS}/{agent}/{place}"


def operation(
    right: Right,
    *,
    also_reads: bool = False,
    of_org: bool = False,
    of_agent: str | None = None,
    fixed: Mapping[str, Any] | None = None,
    takes: Mapping[str, Any] | None = None,
    rpc: str = "",
    gives: type[Data] | None = None,
) -> Callable[[F], F]:
    """Marks an async method as an operation that a key with this right may call.

    `also_reads` says that the answer of a method that writes holds what was stored before, so that the key needs the right to
    read too; without it, a key that may not read gets the answer `without_content`. `of_org` says that the key must allow all
    agents of the org, and `of_agent` names the parameter that is another agent, for which the key needs the right too. `fixed`
    are parameters that mean something in this process only, with their values: no caller from elsewhere gives them. `takes`
    are parameters of which such a caller gives less than the method takes, with their types. `rpc` is the RPC with messages of
    its own that calls the method over gRPC. `gives` is the class of data that such a caller gets in the place of the result, or
    of each in a tuple."""

    def mark(method: F) -> F:
        declared = Declared(
            right=right,
            also_reads=also_reads,
            of_org=of_org,
            of_agent=of_agent,
            fixed=fixed or {},
            takes=takes or {},
            rpc=rpc,
            gives=gives,
        )
        method.__dict__["__operation__"] = declared
        return method

    return mark


def declared(method: object) -> Declared | None:
    """Returns what a method says of itself; None for one that is no operation."""
    found = getattr(method, "__operation__", None)
    return found if isinstance(found, Declared) else None


@runtime_checkable
class Withholding(Protocol):
    """A value that holds what was stored, such as a task or a block."""

    def without_content(self) -> Withholding:
        """Returns the value as a caller gets it who may write, but not read: without texts, names and provenance."""


def without_content(result: Any) -> Any:
    """Returns the result of an operation that writes, for a caller who may not read: each value in it `without_content`."""
    if isinstance(result, Withholding):
        return result.without_content()
    return tuple(map(without_content, result)) if isinstance(result, tuple | list) else result
