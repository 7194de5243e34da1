"""Contents: pages of what one scope holds beside its memories: messages, sessions and users, and their counts."""

from __future__ import annotations

from dataclasses import replace

from germane.api.arguments import flags, normalise_filters, number, optional
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.events.reader import MessagePage, SessionPage
from germane.store import ScopedStore
from germane.types.inventory import Stats, UserPage
from germane.types.limits import CURSOR, ID, PAGE
from germane.types.query import Filters

__all__ = ["list_messages", "list_sessions", "list_users", "page_arguments", "statistics"]

_EVERY = Filters(sensitivities=("public", "private", "sensitive"))


def page_arguments(limit: object, cursor: object) -> None:
    """Checks the arguments of a page. Raises `InvalidInput`."""
    number("limit", limit, minimum=1, maximum=PAGE.maximum)
    optional("cursor", cursor, CURSOR)


async def list_messages(
    store: ScopedStore, session: str | None, filters: Filters | None, limit: int, cursor: str | None, *, whole: bool
) -> MessagePage:
    """See `Agent.messages`."""
    page_arguments(limit, cursor)
    optional("session", session, ID)
    flags(whole=whole)
    chosen = normalise_filters(filters, store.scope.zone) or _EVERY
    if chosen.kinds is not None or chosen.tags is not None:
        raise InvalidInput("filters: messages have no kinds and no tags: leave them out, or list the memories")
    if session is not None and chosen.session not in (None, session):
        raise InvalidInput("session is given twice, as an argument and in filters, and the two differ")
    if session is not None:
        chosen = replace(chosen, session=session)
    return await store.events.page(chosen, limit=limit, cursor=cursor, whole=whole, typed=False)


async def list_sessions(store: ScopedStore, limit: int, cursor: str | None) -> SessionPage:
    """See `Agent.sessions`."""
    page_arguments(limit, cursor)
    return await store.events.sessions(limit, cursor)


async def list_users(store: ScopedStore, limit: int, cursor: str | None) -> UserPage:
    """See `Agent.users`."""
    page_arguments(limit, cursor)
    if store.scope.user is not None:
        raise InvalidInput("a user's scope sees no other users: open the agent without a user to list them")
    return await store.inventory.users(limit, cursor)


async def statistics(store: ScopedStore, clock: Clock) -> Stats:
    """See `Agent.stats`."""
    return await store.inventory.stats(at=clock.now())
