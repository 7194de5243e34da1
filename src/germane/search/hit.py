"""Hit: a search result, an event or memory with its evidence of relevance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from germane.types.evidence import Evidence

__all__ = ["Hit"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Generic[T]):
    """`thing` is the event or memory that was found."""

    thing: T
    evidence: Evidence
