"""Mentioned: the entities that a query names and the most salient ones, looked up once for all sources of an assembly."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from germane.graph.aliases import SHORT, name_key
from germane.graph.entity import Entity
from germane.store import ScopedStore
from germane.text.words import unspaced
from germane.types.query import Filters, Query

__all__ = ["EntityLookup", "KnownEntities", "known_by", "lacks_what_is_filtered", "mention_keys"]

_SALIENT = 10
"""The most salient entities that are offered whatever the query names (GRAPH-6)."""
_MAX_KEYS, _MAX_SHORT, _MAX_MENTIONED = 96, 16, 50
_MAX_WORDS, _MAX_RUN = 64, 3
"""Words of the query that are read for names of several words, and the words of the longest such name."""
_MAX_CHARACTERS, _MAX_UNSPACED = 48, 6
"""The same for scripts without spaces, in characters."""
_WORD = re.compile(r"[^\W_][\w'’.\-/@+#]{0,127}+")


class KnownEntities(NamedTuple):
    """`mentioned` are those that the query names, `salient` the most salient of the others."""

    mentioned: tuple[Entity, ...]
    salient: tuple[Entity, ...]


def mention_keys(query: Query) -> tuple[str, ...]:
    """The name keys that the query may name an entity by, at most 96: of its identifiers, names, quoted phrases and words, of
    two or three words in a row, and the short forms that its identifiers and names may be."""
    keys = dict.fromkeys(key for name in _names(query) if (key := name_key(name)))
    short = (f"{SHORT}{key}" for name in (*query.identifiers, *query.names) if (key := name_key(name)))
    return tuple(dict.fromkeys((*islice(keys, _MAX_KEYS - _MAX_SHORT), *islice(short, _MAX_SHORT))))


def _names(query: Query) -> Iterator[str]:
    yield from query.identifiers
    yield from query.names
    yield from query.phrases
    yield from (term.word for term in query.terms)
    words = [found[0].rstrip("'’.-") for found in islice(_WORD.finditer(query.text), _MAX_WORDS)]
    yield from (word for word in words if not word.isalpha())
    for length in range(_MAX_RUN, 1, -1):
        yield from (" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
    if query.text.isascii():
        return
    for run in unspaced().findall(query.text[:_MAX_CHARACTERS]):
        for length in range(min(_MAX_UNSPACED, len(run)), 1, -1):
            yield from (run[start : start + length] for start in range(len(run) - length + 1))


def lacks_what_is_filtered(filters: Filters) -> bool:
    """Whether the filters ask for something that an entity, a relation and a pattern doesn't have."""
    wanted = (filters.kinds, filters.tags, filters.session, filters.event_types, filters.task)
    return any(one is not None for one in wanted)


def known_by(entity: Entity, filters: Filters) -> bool:
    """Whether the filters' times let the entity pass: it was known by their end, and used since their beginning."""
    if filters.until is not None and entity.created_at > filters.until:
        return False
    return filters.since is None or max(entity.salient_at, entity.updated_at) >= filters.since


class EntityLookup:
    """Looks the entities up once, when they are first asked for; whoever asks later waits for the same answer. Lives for one
    assembly, whose sources all have the same query. A source that is abandoned doesn't end the look-up for the others; the last
    one does."""

    def __init__(self, store: ScopedStore, types: tuple[str, ...] = ()) -> None:
        """`types` are the entity types to look for, unless the request's filters name others; empty: all."""
        self._store, self._types = store, types
        self._task: asyncio.Task[KnownEntities] | None = None
        self._waiting = 0

    async def of(self, query: Query) -> KnownEntities:
        """The entities for this query. Raises what the store raises."""
        if self._task is None:
            self._task = asyncio.create_task(self._look_up(query))
            self._task.add_done_callback(lambda done: done.cancelled() or done.exception())
        task = self._task
        self._waiting += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting -= 1
            if not self._waiting and not task.done():
                task.cancel()
                self._task = None

    async def _look_up(self, query: Query) -> KnownEntities:
        graph, filters = self._store.graph, query.said_by_then
        if lacks_what_is_filtered(filters):
            return KnownEntities((), ())
        if filters.entity_types is None and self._types:
            filters = replace(filters, entity_types=self._types)
        keys = mention_keys(query)
        named, salient = await asyncio.gather(  # one trip to the store
            graph.named(keys, filters=filters, limit=_MAX_MENTIONED), graph.salient(_SALIENT, at=query.at, filters=filters)
        )
        mentioned = tuple({one.id: one for one in named if known_by(one, filters)}.values())
        ids = {one.id for one in mentioned}
        return KnownEntities(mentioned, tuple(one for one in salient if one.id not in ids and known_by(one, filters)))
