"""Injection writer: writes what was injected for each turn to the store, in batches after the answers (INJECT-6)."""

from __future__ import annotations

from germane.injections.operations import keep_injections
from germane.pipeline.injection_log import InjectionLog
from germane.ports.batch_writer import BatchWriter
from germane.store import Store
from germane.types.scope import Scope

__all__ = ["InjectionWriter"]

_MAX_WAITING = 10_000
"""Sessions that wait for their write; the records of further ones stay in this process."""


class InjectionWriter:
    """Records of one second are one commit per session. Where a commit fails, its records stay in the log of this process, and
    the session's next record takes them along."""

    def __init__(self, store: Store, log: InjectionLog) -> None:
        self._store, self._log = store, log
        self._writer: BatchWriter[Scope] = BatchWriter(self._write, max_waiting=_MAX_WAITING)

    def note(self, scope: Scope) -> None:
        """Writes what waits of this scope's session soon. Does no I/O and raises nothing: an answer waits for it."""
        try:
            if not self._store.read_only and self._log.waiting(scope):
                self._writer.add([scope])
        except Exception:
            return

    async def flush(self) -> None:
        """Writes what was noted so far. Raises nothing that the store raises."""
        await self._writer.flush()

    async def close(self) -> None:
        """Writes what was noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[Scope]) -> None:
        for scope in dict.fromkeys(batch):
            changes = self._log.waiting(scope)
            try:
                await self._store.within(scope).journal.commit(keep_injections(changes))
            except Exception:
                continue
            self._log.written(scope, changes)
