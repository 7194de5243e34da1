"""Delegated request: a request in the session of a delegated agent, held to what its parent allowed (TASK-4, SCOPE-2)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from germane.pipeline.assembly_state import PROPAGATED
from germane.pipeline.call_guard import Guard
from germane.pipeline.deadline import Deadline
from germane.store import ScopedStore
from germane.tasks.limits import DelegatedSession
from germane.types.request import Request

__all__ = ["held_to_delegation"]

_LOOKUP = 0.010
"""Seconds that the store has to answer, and a quarter of the time at most."""


async def held_to_delegation(request: Request, store: ScopedStore, deadline: Deadline, guard: Guard) -> Request:
    """Returns the request, in the session of a delegated agent without the sensitivities that its parent didn't allow. Where
    the store doesn't answer in time it stays as it is: the gate refuses what isn't allowed, and what could have stood in its
    place is missing. Raises nothing but what ends the program."""
    session = request.scope.session
    if session is None:
        return request
    left = None if deadline.gathered is None else max(0.0, deadline.gathered - guard.clock.steady())
    try:
        start = partial(store.tasks.delegated, session)
        patience = None if left is None else min(_LOOKUP, left / 4)
        given = await guard.call("delegation", start, (DelegatedSession, type(None)), patience=patience)
    except PROPAGATED:
        raise
    except BaseException:
        return request
    if given is None:
        return request
    allowed = tuple(one for one in request.filters.sensitivities if one in given.allowed)
    return replace(request, filters=replace(request.filters, sensitivities=allowed))
