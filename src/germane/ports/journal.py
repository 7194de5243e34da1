"""Journal: the protocol for all writing, runs a plan in one transaction and commits the operations it decided on."""

from __future__ import annotations

from typing import Protocol, TypeVar

from germane.types.plan import Plan

__all__ = ["Journal"]

T = TypeVar("T")


class Journal(Protocol):
    """Writes to one scope of a store. No other way of writing exists."""

    async def commit(self, plan: Plan[T]) -> T:
        """Runs the plan and returns its outcome once its operations are durable. Raises what the plan raises; then nothing has
        been written."""

    async def revision(self) -> int:
        """Returns the revision of the last commit that changed this scope's content. Revisions number the store's commits, so
        they only rise."""

    def known_revision(self) -> int:
        """Returns the revision of a commit that every read from now on sees: the latest that this process knows of. No I/O."""

    async def scrub(self) -> str:
        """Removes all forgotten content from the store's files, whichever scope forgot it. Returns '' when none is left, else a
        sentence that says what the removal still waits for. Idempotent. Raises nothing: forgotten content can't be read again
        in any case."""
