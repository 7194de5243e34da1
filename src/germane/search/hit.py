"""Hit: a search result, an event or memory with its evidence of relevance; `Found` is all that a search returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from germane.types.evidence import Evidence
from germane.types.unread import Unread

__all__ = ["Found", "Hit"]

T = TypeVar("T")


class Hit(NamedTuple, Generic[T]):
    """`thing` is the event or memory that was found."""

    thing: T
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    """The results of a search: the hits, best first, and what was found and not read."""

    hits: tuple[Hit[T], ...] = ()
    unread: tuple[Unread, ...] = ()
