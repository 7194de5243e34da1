"""Why block: why a memory block, or an entry of the archive, isn't in a context that doesn't name it."""

from __future__ import annotations

from germane.blocks.block import Block
from germane.blocks.entry import ArchivalEntry
from germane.blocks.label import label_key
from germane.errors import InvalidInput
from germane.store import ScopedStore
from germane.types.query import Filters
from germane.types.trace import Trace
from germane.types.why import Why

__all__ = ["find_block", "not_searched", "why_not_there"]


async def find_block(store: ScopedStore, name: str) -> Block | ArchivalEntry | None:
    """Returns the block with this label or id, or the archival entry with this id; None where the scope sees none."""
    try:
        key = label_key(name)
    except InvalidInput:
        return None
    blocks = [block for block in await store.blocks.named([key]) if block.deleted_at is None]
    return blocks[0] if blocks else next(iter(await store.blocks.entries([name])), None)


def why_not_there(thing: Block | ArchivalEntry, trace: Trace, filters: Filters | None) -> Why:
    """Why the thing is no candidate in this trace."""
    if filters is not None and "private" not in filters.sensitivities:
        said = "the filter sensitivities keeps it out: it is private"
        return Why(id=thing.id, outcome="filtered", reason="sensitivities", text=said)
    if filters is not None and thing.id in filters.exclude:
        return Why(id=thing.id, outcome="filtered", reason="exclude", text="the filter exclude keeps it out")
    searched = isinstance(thing, ArchivalEntry) or thing.type == "archival"
    source = "archive" if searched else "blocks"
    if (unasked := not_searched(thing.id, source, trace)) is not None:
        return unasked
    if searched:
        return Why(
            id=thing.id, outcome="not_reached", reason="depth", text="the search of the archive found others, or nothing"
        )
    if not isinstance(thing, ArchivalEntry) and not thing.standing:
        kind = "isn't pinned" if thing.type == "working" else f"is of type {thing.type}"
        said = f"the block {kind}, and the request doesn't name it: give its label in `blocks`"
        return Why(id=thing.id, outcome="not_searched", reason="not_named", text=said)
    said = "when the blocks were read, it wasn't among those of every context"
    return Why(id=thing.id, outcome="not_searched", reason="changed", text=said)


def not_searched(id: str, source: str, trace: Trace) -> Why | None:
    """Why the source that would offer the thing offered nothing; None where it did its work."""
    report = next((report for report in trace.sources if report.name == source), None)
    if report is None:
        said = f"strategy {trace.strategy} has no source {source}"
        return Why(id=id, outcome="not_searched", reason="strategy", text=said)
    if report.status != "ok":
        reason = f"{report.status}:{report.reason}" if report.reason else report.status
        said = f"the source {source} found nothing for this answer: {reason}"
        return Why(id=id, outcome="not_searched", reason=reason, text=said)
    return None
