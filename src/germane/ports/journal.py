"""Journal: the one way in. Drives a plan inside one transaction and commits what it decided."""

from __future__ import annotations

from typing import Protocol, TypeVar

from germane.types.plan import Plan

__all__ = ["Journal"]

T = TypeVar("T")


class Journal(Protocol):
    async def commit(self, plan: Plan[T]) -> T:
        """The plan's outcome, once what it decided is durable. What the plan raises, this raises, with nothing written."""

    async def revision(self) -> int:
        """Rises with every commit that touches this scope's content."""

    async def scrub(self) -> str:
        """Makes sure that nothing of what was forgotten so far, by whomever, is left in any file. Returns what that waits for,
        in words, or '' where nothing is left. Idempotent; raises nothing, as what was forgotten is forgotten."""
