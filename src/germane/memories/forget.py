"""Forget: the plan that removes memories and messages for good and reports which ones (MEM-3).

A fact that is no longer true isn't forgotten but superseded: it stays in history (see `remember.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from germane.errors import InvalidInput
from germane.memories.checks import SOURCE_KINDS, label
from germane.memories.operations import ForgetOwner, LeftOf, Select
from germane.memories.receipt import Receipt
from germane.types.limits import shown
from germane.types.plan import Change, Decision, Plan, read
from germane.types.scope import Scope

__all__ = ["forget", "left_of"]


def left_of(receipt: Receipt) -> Plan[Receipt]:
    """Looks for what is left of what was forgotten; the outcome is the receipt with the places in which nothing is. Where
    something is left, it waits for these places."""
    gone = (*receipt.memory_ids, *receipt.event_ids, *receipt.block_ids, *receipt.graph_ids, *receipt.task_ids)
    gone += receipt.history_ids
    found = yield from read(LeftOf(gone))
    waiting = f"{', '.join(found.holding)}, which still have something of it: a fault of germane's" if found.holding else ""
    clean = tuple(place for place in found.checked if place not in found.holding)
    return Decision((), replace(receipt, checked=clean, waiting_for=waiting))


def forget(
    *,
    ids: Sequence[str] | None = None,
    key: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    source_kind: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    scope: Scope,
    at: datetime,
    by: str = "",
    reason: str = "",
) -> Plan[Receipt]:
    """Forgets the memories and messages that match every criterion given; the outcome says which ones. With `dry_run` nothing
    is written. `ids` are germane's ids, also of blocks, archival entries, entities, relations, patterns and tasks (with all
    below them), or the caller's
    message ids; an empty list selects nothing. `session`, `source_kind` and `channel` are those of the provenance.

    `everything`, or `user` as the only criterion, also removes the directive, the sessions, and the owner's name.

    `by` and `reason` are kept in the tombstone, so they must not hold what is being forgotten. Raises `InvalidInput` where no
    criterion is given, where a criterion is blank, and where the scope of a user names another user.
    """
    named = {"key": key, "tag": tag, "session": session, "source_kind": source_kind, "channel": channel, "user": user}
    if ids is None and not everything and all(value is None for value in named.values()):
        raise InvalidInput(
            "what to forget? Give ids, key, tag, session, source_kind, channel or user, or everything=True for all here"
        )
    if source_kind is not None and source_kind not in SOURCE_KINDS:
        raise InvalidInput(f"source_kind {shown(source_kind)} is none of {', '.join(SOURCE_KINDS)}")
    for name, value in (named | {"by": by or "-", "reason": reason or "-"}).items():
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
        if value is not None and not value.strip():
            raise InvalidInput(f"{name} is blank: give one, or leave it out")
    if everything and (ids is not None or any(value is not None for name, value in named.items() if name != "user")):
        raise InvalidInput("everything=True goes with no other criterion but user: leave one of them out")
    if user is not None and scope.user is not None and user != scope.user:
        raise InvalidInput("a user's scope forgets only its own: open the agent without a user to forget another's")
    wanted = None if ids is None else tuple(dict.fromkeys((ids,) if isinstance(ids, str) else ids))
    if wanted == ():
        return Decision((), Receipt(dry_run=dry_run))
    found = yield from read(
        Select(
            ids=wanted,
            key=None if key is None else label("key", key),
            tag=None if tag is None else label("tag", tag),
            session=session,
            source_kind=source_kind,
            channel=channel,
            user=user,
            everything=everything,
        )
    )
    receipt = Receipt(
        memory_ids=found.memory_ids,
        event_ids=found.event_ids,
        block_ids=found.block_ids,
        graph_ids=found.graph_ids,
        task_ids=found.task_ids,
        history_ids=found.history_ids,
        dry_run=dry_run,
    )
    given = {name for name, value in named.items() if value is not None}
    whole = everything or (ids is None and given == {"user"})
    ended = (session,) if session is not None and ids is None and given <= {"session", "user"} else ()
    if dry_run or not (receipt or whole or ended):
        return Decision((), receipt)
    gone: Change = replace(found, sessions=(*found.sessions, *ended)).forgetting(at=at, by=by, reason=reason)
    if whole:
        gone = ForgetOwner(user=user, at=at, by=by, reason=reason)
    return Decision((gone,), receipt)
