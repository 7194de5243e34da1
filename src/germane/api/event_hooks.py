"""Event hooks: calls an archetype's functions before and after an event is stored; plain ones and coroutine functions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from inspect import isawaitable
from typing import Any

from germane.archetypes.archetype import Archetype
from germane.archetypes.recorded_event import RecordedEvent
from germane.errors import InvalidInput
from germane.events.new_event import NewEvent

__all__ = ["SECONDS", "admitted", "told"]

SECONDS = 5.0
"""How long one hook may be waited for. A plain function is called on the event loop, and nothing can end it."""
_LOG = logging.getLogger("germane.archetypes")


async def admitted(archetype: Archetype, new: NewEvent) -> tuple[NewEvent, str]:
    """Returns the event as the hooks before it leave it, and the name of the hook that refused it, else ''. Raises what a hook
    raises: a hook may be what keeps something out of the store, so that nothing passes one that fails. Raises `TimeoutError`
    after five seconds, and `InvalidInput` where a hook returns anything else than an event or None."""
    for hook in archetype.before:
        given: Any = hook(new)
        if isawaitable(given):
            given = await _within(given)
        if given is None:
            return new, _name(hook)
        if not isinstance(given, NewEvent):
            raise InvalidInput(
                f"hook {_name(hook)} returned {type(given).__name__}: it must return the event, or None to refuse it"
            )
        new = given
    return new, ""


async def told(archetype: Archetype, recorded: RecordedEvent) -> None:
    """Calls the hooks after it. A hook that fails, or takes more than five seconds, is logged by its name, without what the
    event says. Raises nothing but cancellation."""
    for hook in archetype.after:
        try:
            given = hook(recorded)
            if isawaitable(given):
                await _within(given)
        except Exception as error:  # the event is stored, whatever a hook does
            _LOG.warning("hook %s of archetype %s failed: %s", _name(hook), archetype.name[:80], type(error).__name__)


async def _within(given: Awaitable[Any]) -> Any:
    async with asyncio.timeout(SECONDS):
        return await given


def _name(hook: object) -> str:
    return str(getattr(hook, "__qualname__", type(hook).__name__))[:80]
