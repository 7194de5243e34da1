"""Contents: what one scope holds: pages and counts of it, the thing that an id stands for, and the search of the archive."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from germane.api.arguments import build_request, identifiers, normalise_filters
from germane.api.wiring import Parts
from germane.clock import Clock
from germane.errors import InvalidInput, NotFound, StoreError
from germane.kinds.blocks.reads import AllIndexed, FirstNamed
from germane.kinds.blocks.value import FoundBlock, FoundEntry
from germane.kinds.events.reads import ListEvents, ListSessions, MessagePage, SeenEvents, SessionPage
from germane.kinds.events.value import Event
from germane.kinds.inventory import AllowedIds, IdsBeginning, IdsSaidAs, ListUsers, ScopeStats, TombstoneOf
from germane.kinds.memories.reads import SeenMemories
from germane.kinds.memories.value import Memory
from germane.search.relevance import matrix, sigmoid
from germane.stages.gather.source import Skipped, with_vector
from germane.stages.read.query import read
from germane.stores.contract import ScopedStore
from germane.types.checks import check_flags, check_optional_text, check_text, check_whole_number
from germane.types.inventory import Stats, UserPage
from germane.types.limits import CURSOR, ID, PAGE, QUERY
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope


def check_page(limit: object, cursor: object) -> None:
    """Checks the arguments of a page. Raises `InvalidInput`."""
    check_whole_number("limit", limit, low=1, high=PAGE.maximum)
    check_optional_text("cursor", cursor, CURSOR)


async def list_messages(
    store: ScopedStore, session: str | None, filters: Filters | None, limit: int, cursor: str | None, *, whole: bool
) -> MessagePage:
    """See `Agent.messages`."""
    check_page(limit, cursor)
    check_optional_text("session", session, ID)
    check_flags(whole=whole)
    chosen = normalise_filters(filters, store.scope.zone) or EVERY_SENSITIVITY
    if chosen.kinds is not None or chosen.tags is not None:
        raise InvalidInput(
            "names kinds or tags, which messages don't have", path="filters", advice="leave them out, or list the memories"
        )
    if session is not None and chosen.session not in (None, session):
        raise InvalidInput("is given twice, as an argument and in filters, and the two differ", path="session")
    if session is not None:
        chosen = replace(chosen, session=session)
    return await store.ask(ListEvents(chosen, limit=limit, cursor=cursor, whole=whole, typed=False))


async def list_sessions(store: ScopedStore, limit: int, cursor: str | None) -> SessionPage:
    """See `Agent.sessions`."""
    check_page(limit, cursor)
    return await store.ask(ListSessions(limit, cursor))


async def list_users(store: ScopedStore, limit: int, cursor: str | None) -> UserPage:
    """See `Agent.users`."""
    check_page(limit, cursor)
    if store.scope.user is not None:
        raise InvalidInput("a user's scope sees no other users", advice="open the agent without a user to list them")
    return await store.ask(ListUsers(limit, cursor))


async def statistics(store: ScopedStore, clock: Clock) -> Stats:
    """See `Agent.stats`."""
    return await store.ask(ScopeStats(clock.now()))


# The stored thing that a caller means by an id, by the beginning of one, or by a message id of its own.


_PREFIX = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,11})?|[0-9a-f]{4,7}")
"""The beginning of a UUID as germane writes it: four characters at least, and not the whole."""
_ID_CHARACTERS = 36
"""Characters of an id."""
_MAX_NAMED = 5
"""Candidates that an ambiguous prefix names."""


async def memory_id(store: ScopedStore, name: str) -> str:
    """Returns the whole id of the memory that `name` stands for: an id, or the beginning of exactly one. A name that stands for
    nothing comes back as it is. Raises `InvalidInput` where several memories begin with it."""
    if not _PREFIX.fullmatch(name):
        return name
    if await store.ask(SeenMemories([name])):
        return name
    found = await store.ask(IdsBeginning(name, _MAX_NAMED + 1, "memories"))
    return _only(name, found) if found else name


async def find_thing(store: ScopedStore, name: str) -> Memory | Event:
    """Returns the memory or message that `name` stands for: an id of germane's, a message id of the caller's, or the beginning
    of exactly one id of germane's, in this order. Raises `NotFound`, and `InvalidInput` where several have it."""
    if (thing := await _read(store, name)) is not None:
        return thing
    found: Sequence[str] = await store.ask(IdsSaidAs(name, _MAX_NAMED + 1))
    if not found and _PREFIX.fullmatch(name):
        found = [
            *await store.ask(IdsBeginning(name, _MAX_NAMED + 1, "memories")),
            *await store.ask(IdsBeginning(name, _MAX_NAMED + 1, "events")),
        ]
    if found and (thing := await _read(store, _only(name, found))) is not None:
        return thing
    if (stone := await store.ask(TombstoneOf(name))) is not None:
        raise NotFound(
            f"no memory or message {{}} here: this {stone.what} was forgotten on {stone.at:%Y-%m-%d %H:%M} UTC", name
        )
    hint = (
        ""
        if len(name) >= _ID_CHARACTERS
        else ": give an id, the first characters of one (four or more), or your own id of a message"
    )
    raise NotFound(f"no memory or message {{}} here{hint}", name)


async def texts_by_id(store: ScopedStore, ids: Sequence[str], clock: Clock) -> dict[str, str]:
    """See `Agent.texts`."""
    wanted = identifiers(ids)
    allowed = await store.ask(AllowedIds(wanted, clock.now(), Filters()))
    readable = [id for id in wanted if id in allowed]
    memories, events = await asyncio.gather(store.ask(SeenMemories(readable)), store.ask(SeenEvents(readable)))
    return {memory.id: memory.text for memory in memories} | {event.id: event.text for event in events}


def no_memory(name: str) -> NotFound:
    """Returns the error for a memory that isn't there."""
    hint = "" if len(name) >= _ID_CHARACTERS else ": give its id, or the first characters of it (four or more)"
    return NotFound(f"no memory {{}} here{hint}", name)


def _only(name: str, found: Sequence[str]) -> str:
    if len(found) == 1:
        return found[0]
    several = f"{len(found)}" if len(found) <= _MAX_NAMED else f"more than {_MAX_NAMED}"
    raise InvalidInput(f"id {{}} stands for {several} things here: {', '.join(found[:_MAX_NAMED])}. Give more of it", name)


async def _read(store: ScopedStore, id: str) -> Memory | Event | None:
    things: Sequence[Memory | Event] = await store.ask(SeenMemories([id])) or await store.ask(SeenEvents([id]))
    return things[0] if things else None


# Archival entries and blocks are found with the searches and the relevance model of memories (BLK-7).


_LOG = logging.getLogger("germane.blocks")


async def search_archive(parts: Parts, scope: Scope, query: str, limit: int) -> tuple[FoundEntry, ...]:
    """See `AgentBlocks.search_archive`."""
    return await _search(parts, scope, query, limit, ("entry", "archival"))


async def search_blocks(parts: Parts, scope: Scope, query: str, limit: int) -> tuple[FoundBlock, ...]:
    """See `AgentBlocks.search`."""
    check_whole_number("limit", limit, low=1, high=PAGE.maximum)
    check_text("query", query, QUERY, valid=False)
    await index_all(parts, scope)
    found = await _search(parts, scope, query, limit, ("archival", "block"))
    wanted = {one.entry.id: one.relevance for one in found}
    blocks = await parts.store.within(scope).ask(FirstNamed(list(wanted))) if wanted else ()
    return tuple(
        FoundBlock(block=one, relevance=wanted[one.id]) for one in blocks if one.deleted_at is None and one.id in wanted
    )


async def index_all(parts: Parts, scope: Scope) -> None:
    """Makes all blocks of the scope searchable as they are now. A store that is only read, or can't be written, stays as it is:
    a block that was edited since the last search isn't found there."""
    store = parts.store.within(scope)
    if parts.store.read_only or await store.ask(AllIndexed()):
        return
    from germane.kinds.blocks.revision import index_blocks  # it opens documents, which few programs have

    try:
        while await store.commit(index_blocks()):
            pass
    except StoreError as error:
        _LOG.warning("blocks that were edited can't be searched: %s", error)
        return
    if not parts.embedder.quick:
        await parts.catch_up.settle()


async def _search(parts: Parts, scope: Scope, query: str, limit: int, kinds: tuple[str, ...]) -> tuple[FoundEntry, ...]:
    check_whole_number("limit", limit, low=1, high=PAGE.maximum)
    check_text("query", query, QUERY, valid=False)
    request = build_request(scope=scope, catalog=parts.catalog, clock=parts.clock, messages=(), model="any", query=query)
    asked = read(request)
    asked = replace(asked, filters=replace(asked.filters, kinds=kinds))
    store = parts.store.within(scope)
    with suppress(Skipped):
        asked = await with_vector(asked, store, parts.engine.embedder, patience=None)
    if not asked.searchable:
        return ()
    found = await store.blocks.search(asked, limit, keywords=True, vectors=True, wait=True)
    if not found.hits:
        return ()
    odds = parts.engine.relevance.log_odds(matrix([hit.evidence for hit in found.hits]))
    chances = sigmoid(odds).tolist()
    scored = [FoundEntry(entry=hit.thing, relevance=chance) for hit, chance in zip(found.hits, chances, strict=True)]
    return tuple(sorted(scored, key=lambda one: -one.relevance))
