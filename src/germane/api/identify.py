"""Identify: finds the stored thing that a caller means by an id, by the beginning of one, or by a message id of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from germane.errors import InvalidInput, NotFound
from germane.events.event import Event
from germane.memories.memory import Memory
from germane.store import ScopedStore

__all__ = ["find_thing", "memory_id", "no_memory"]

_PREFIX = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,11})?|[0-9a-f]{4,7}")
"""The beginning of a UUID as germane writes it: four characters at least, and not the whole."""
_WHOLE = 36
"""Characters of an id."""
_SHOWN = 5
"""Candidates that an ambiguous prefix names."""


async def memory_id(store: ScopedStore, name: str) -> str:
    """Returns the whole id of the memory that `name` stands for: an id, or the beginning of exactly one. A name that stands for
    nothing comes back as it is. Raises `InvalidInput` where several memories begin with it."""
    if not _PREFIX.fullmatch(name) or await store.memories.get([name]):
        return name
    found = await store.inventory.ids(name, _SHOWN + 1, domain="memories")
    return _only(name, found) if found else name


async def find_thing(store: ScopedStore, name: str) -> Memory | Event:
    """Returns the memory or message that `name` stands for: an id of germane's, a message id of the caller's, or the beginning
    of exactly one id of germane's, in this order. Raises `NotFound`, and `InvalidInput` where several have it."""
    if (thing := await _read(store, name)) is not None:
        return thing
    found: Sequence[str] = await store.inventory.said_as(name, _SHOWN + 1)
    if not found and _PREFIX.fullmatch(name):
        found = [id for domain in ("memories", "events") for id in await store.inventory.ids(name, _SHOWN + 1, domain=domain)]
    if found and (thing := await _read(store, _only(name, found))) is not None:
        return thing
    if (stone := await store.inventory.tombstone(name)) is not None:
        raise NotFound(f"no memory or message {name!r} here: this {stone.what} was forgotten on {stone.at:%Y-%m-%d %H:%M} UTC")
    hint = (
        "" if len(name) >= _WHOLE else ": give an id, the first characters of one (four or more), or your own id of a message"
    )
    raise NotFound(f"no memory or message {name!r} here{hint}")


def no_memory(name: str) -> NotFound:
    """Returns the error for a memory that isn't there."""
    hint = "" if len(name) >= _WHOLE else ": give its id, or the first characters of it (four or more)"
    return NotFound(f"no memory {name!r} here{hint}")


def _only(name: str, found: Sequence[str]) -> str:
    if len(found) == 1:
        return found[0]
    several = f"{len(found)}" if len(found) <= _SHOWN else f"more than {_SHOWN}"
    raise InvalidInput(f"id {name!r} stands for {several} things here: {', '.join(found[:_SHOWN])}. Give more of it")


async def _read(store: ScopedStore, id: str) -> Memory | Event | None:
    things: Sequence[Memory | Event] = await store.memories.get([id]) or await store.events.get([id])
    return things[0] if things else None
