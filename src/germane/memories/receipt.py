"""Receipt: what was forgotten, and whether it is gone from every file (MEM-3)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Receipt"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The ids that were forgotten or, after a dry run, that would be. Forgetting the same again returns a receipt without ids,
    whose `matched` is false. `str` says in a sentence what was forgotten.

    After forgetting, the store is searched for what is left: `checked` are the places in which nothing of it was found.
    The ids are also those of all that was made of it.

    Forgotten text is never found again, whatever `scrubbed` says. `scrubbed` is True where nothing of it, nor of anything that
    was forgotten before, is left in any file of the store (the database and its log). It is False while something delays
    that, which `waiting_for` names in words; the scrubbing is completed as soon as that ends, by this process, by another one
    or after a restart. Forgetting the same again retries and reports the state then. After a dry run the two are False and ''.
    """

    memory_ids: tuple[str, ...] = ()
    event_ids: tuple[str, ...] = ()
    block_ids: tuple[str, ...] = ()
    """Ids of blocks and of archival entries."""
    graph_ids: tuple[str, ...] = ()
    """Ids of entities, relations and patterns: also of those that nothing but the other things mentioned."""
    task_ids: tuple[str, ...] = ()
    history_ids: tuple[str, ...] = ()
    """Ids of archived entries and summaries of compactions: also of all those of the sessions of `event_ids`."""
    dry_run: bool = False
    scrubbed: bool = False
    waiting_for: str = ""
    checked: tuple[str, ...] = ()

    @property
    def matched(self) -> bool:
        """Whether there was anything to forget. Where there was nothing, `scrubbed` speaks of what was forgotten before."""
        return len(self) > 0

    def __str__(self) -> str:
        left = f"; some of it is still left in the file: that waits for {self.waiting_for}" if self.waiting_for else ""
        if not self.matched:
            return f"nothing matches: {'nothing would be' if self.dry_run else 'nothing was'} forgotten{left}"
        kinds = (
            (self.memory_ids, "memories"),
            (self.event_ids, "messages"),
            (self.block_ids, "blocks or archived texts"),
            (self.graph_ids, "entities, relations and patterns"),
            (self.task_ids, "tasks"),
            (self.history_ids, "kept parts of compacted conversations"),
        )
        counts = ", ".join(f"{len(ids)} {name}" for ids, name in kinds if ids)
        return f"{'would forget' if self.dry_run else 'forgot'} {counts}{left}"

    def __len__(self) -> int:
        kept = len(self.memory_ids) + len(self.event_ids) + len(self.block_ids)
        return kept + len(self.graph_ids) + len(self.task_ids) + len(self.history_ids)
