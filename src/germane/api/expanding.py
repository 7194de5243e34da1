"""Expanding: the whole text of an item that a context shows in part, or as a breadcrumb (PACK-5)."""

from __future__ import annotations

from germane.api.context_build import ADDITIONAL
from germane.api.identify import find_thing
from germane.api.wiring import Parts
from germane.errors import NotFound
from germane.types.built_context import BuiltContext
from germane.types.candidate import Chosen
from germane.types.context import Context
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["expanded"]


async def expanded(parts: Parts, scope: Scope, name: str, context: Context | BuiltContext | None) -> str:
    """Returns the whole text behind a handle or an id, as far as it may be shown now: by the store's own rules, and by the
    filters of the context. Raises `NotFound`, and `InvalidInput` where several things begin with `name`."""
    filters, at, id = Filters(), parts.clock.now(), name
    shown: Chosen | None = None
    if context is not None:
        id = context.attribution.get(name, name)
        shown = next((item for item in context.items if item.id == id), None)
        query = context.trace.query
        if query is not None:
            filters, at = query.filters, query.at if query.dated else at
    if shown is not None and shown.scored.candidate.only_from(_own(parts, context)):
        return shown.scored.candidate.text
    store = parts.store.within(scope)
    allowed = await store.allowed([id], at=at, filters=filters)
    if shown is not None and id in allowed:
        for things in (await store.events.get([id]), await store.memories.get([id])):
            if things:
                return things[0].text
        return shown.scored.candidate.text
    thing = await find_thing(store, id)
    if thing.id not in await store.allowed([thing.id], at=at, filters=filters):
        raise NotFound(f"no memory or message {name!r} here")
    return thing.text


def _own(parts: Parts, context: Context | BuiltContext | None) -> frozenset[str]:
    """The sources whose items aren't the store's: those that were registered, and what a caller gave to `build`."""
    given = {ADDITIONAL} if isinstance(context, BuiltContext) else set[str]()
    return frozenset({*parts.engine.sources, *given})
