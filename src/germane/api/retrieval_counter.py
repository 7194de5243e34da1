"""Retrieval counter: counts how often each memory was injected, and writes the counts in batches (MEM-5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from germane.memories.feedback import count_retrievals
from germane.ports.batch_writer import BatchWriter
from germane.store import Store
from germane.types.candidate import Chosen
from germane.types.scope import Scope

__all__ = ["RetrievalCounter"]

_MAX_WAITING = 10_000
"""Counts that are kept while the store doesn't write; further ones are dropped."""

_NO_MEMORIES = frozenset(
    (
        *("activity", "additional", "archival", "block", "conversation", "document", "entity", "outline", "pattern"),
        *("relation", "task"),
    )
)
"""Categories of items that aren't memories: nothing counts how often they were injected."""


class RetrievalCounter:
    """Counts of one second are one commit per scope, after the answers. Where a commit fails, its counts are lost and nothing
    else happens."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer: BatchWriter[tuple[Scope, str]] = BatchWriter(self._write, max_waiting=_MAX_WAITING)

    def note(self, scope: Scope, ids: Sequence[str]) -> None:
        """Counts one retrieval of each memory in `ids`. Does no I/O and raises nothing: an answer waits for it."""
        try:
            if not self._store.read_only:
                self._writer.add([(scope, id) for id in ids])
        except Exception:
            return

    def injected(self, scope: Scope, items: Iterable[Chosen]) -> None:
        """Counts one retrieval of each memory among these items, as `note` does."""
        self.note(scope, [item.id for item in items if item.category not in _NO_MEMORIES])

    async def flush(self) -> None:
        """Writes the counts noted so far. Raises nothing that the store raises."""
        await self._writer.flush()

    async def close(self) -> None:
        """Writes the counts noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[tuple[Scope, str]]) -> None:
        ids_of: dict[Scope, list[str]] = defaultdict(list)
        for scope, id in batch:
            ids_of[scope].append(id)
        for scope, ids in ids_of.items():
            try:
                await self._store.within(scope).journal.commit(count_retrievals(ids))
            except Exception:
                continue
