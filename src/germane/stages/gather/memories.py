"""Memory sources: typed memories, the lines of the profile, memory blocks, and the archive.

Memories are found by the query, or named by the strategy (pinned, fact keys, tags). The lines of the profile are standing
instructions and what holds about the person (PERSON-1); `engine.selection` decides which of them stand in a prompt. Blocks
are those of every context and those that the request names; the archive is searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar

from germane.kinds.blocks.reads import blocks_to_show
from germane.kinds.memories.value import Memory
from germane.kinds.profile.offer import OfferedLine, offered_lines
from germane.stages.gather.candidates import from_block, from_entry, from_memory, offered
from germane.stages.gather.source import EVERYTHING, EmbeddingSource, SearchDepth, Skipped, Source, SourceNature, SourceParts
from germane.stores.contract import ScopedStore
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import Evidence, Unread
from germane.types.query import Filters, Query
from germane.types.strategy import SourcePlan


class MemorySource(EmbeddingSource):
    """Memories found by the query, by keywords and by vector. Waits for a partition that is still being loaded only with
    `wait`; without it, the search raises `Warming`. Of those that can't be worth their tokens, by `depth`, no text is read."""

    nature: ClassVar = SourceNature(deep=True, offers="found", without={"no_query"})

    def __init__(
        self, store: ScopedStore, name: str = "memories", *, wait: bool = False, depth: SearchDepth = EVERYTHING
    ) -> None:
        self._store, self._name, self._wait, self._depth = store, name, wait, depth

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, plan.name, wait=parts.wait, depth=parts.depth)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        asked = replace(self._depth.of_stated(query), filters=query.of_its_days(query.filters))
        found = await self._store.memories.search(
            asked, min(plan.limit, self._depth.max_stated), keywords=plan.keywords, vectors=plan.vectors, wait=self._wait
        )
        return offered(found, self._name, query, from_memory)


class StructuredSource:
    """Pinned memories, the newest fact of each key the strategy lists, and memories with one of its tags. All are required:
    they are packed before anything else."""

    nature: ClassVar = SourceNature(standing=True, offers="found")

    def __init__(self, store: ScopedStore, fact_keys: Sequence[str] = (), tags: Sequence[str] = ()) -> None:
        self._store, self._fact_keys, self._tags = store, fact_keys, tags

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.strategy.fact_keys, parts.strategy.tags)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        found = await self._store.memories.pinned(self._fact_keys, self._tags, at=query.at, filters=query.filters)
        evidence = Evidence(structured=1.0)
        wanted = enumerate(found[: plan.limit])
        return [from_memory(memory, "structured", evidence, required=True, position=place) for place, memory in wanted]


# Lines that may stand in the prompt whatever the request is (PERSON-1).


PROFILE = "profile"


class ProfileSource:
    """Offers at most as many lines as its plan allows, the worthiest first."""

    nature: ClassVar = SourceNature(standing=True)

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        offered = await offered_lines(self._store, query, plan.limit)
        return [_line_candidate(one, place) for place, one in enumerate(offered.lines)]


def _line_candidate(one: OfferedLine, place: int) -> Candidate:
    line, thing = one
    if isinstance(thing, Memory):
        return from_memory(thing, PROFILE, Evidence(), position=place)._replace(line=line)
    return Candidate(
        id=line.id,
        source=PROFILE,
        category=line.kind,
        text=line.text,
        created_at=line.said_at,
        kinds=(line.kind,),
        sensitivity=thing.sensitivity,
        speaker=thing.speaker,
        role="user",
        position=place,
        content_hash=thing.shown_hash,
        provenance=Provenance(session=thing.session, message_id=thing.message_id, refs=(thing.id,)),
        line=line,
    )


# Blocks, and what a search of the archive finds.


_ARCHIVED_KINDS = ("entry", "archival")
_BLOCK_KINDS = (*_ARCHIVED_KINDS, "block")


class BlockSource:
    """Core blocks, pinned working blocks, and those with the labels or ids in `named`: own ones by label, then shared ones. All
    are required, and shown as they are now, whatever time is asked about. Of the request's filters they obey sensitivities (a
    block is private) and excluded ids."""

    nature: ClassVar = SourceNature(standing=True)

    def __init__(self, store: ScopedStore, named: Sequence[str] = ()) -> None:
        self._store, self._named = store, named

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.named_blocks)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        if "private" not in query.filters.sensitivities:
            return []
        found = await blocks_to_show(self._store, self._named)
        wanted = [block for block in found if block.id not in query.filters.exclude]
        if self._named:
            wanted.sort(key=lambda block: (block.shared_from is not None, block.label, block.user is None))
        return [from_block(block, "blocks", position) for position, block in enumerate(wanted[: plan.limit])]


class ArchiveSource(EmbeddingSource):
    """Archival entries and archival blocks found by the query, as memories are found; where the depth says so, blocks of every
    type, as far as they are indexed (`kinds/blocks/revision.py`). They have no kind, tag or session, so a
    request that filters by one gets none. Waits for a partition that is still being loaded only with `wait`."""

    nature: ClassVar = SourceNature(deep=True, offers="found", without={"no_query"})

    def __init__(self, store: ScopedStore, *, wait: bool = False, depth: SearchDepth = EVERYTHING) -> None:
        self._store, self._wait, self._depth = store, wait, depth

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, wait=parts.wait, depth=parts.depth)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        filters = query.of_its_days(query.said_by_then)
        if _names_what_entries_lack(filters):
            return []
        kinds = _BLOCK_KINDS if self._depth.blocks else _ARCHIVED_KINDS
        asked = replace(self._depth.of_stated(query), filters=_of_kinds(filters, kinds))
        found = await self._store.blocks.search(
            asked, min(plan.limit, self._depth.max_stated), keywords=plan.keywords, vectors=plan.vectors, wait=self._wait
        )
        return offered(found, "archive", query, from_entry)


@lru_cache(maxsize=64)
def _of_kinds(filters: Filters, kinds: tuple[str, ...]) -> Filters:
    """Filters are checked when they are made, and most requests have the same."""
    return replace(filters, kinds=kinds)


def _names_what_entries_lack(filters: Filters) -> bool:
    return any(one is not None for one in (filters.kinds, filters.tags, filters.session, filters.event_types, filters.task))
