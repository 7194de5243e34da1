"""Forget matching: one call of `forget`: checks its criteria, commits the plan, and has the files and caches follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.api.arguments import flags, identifiers, optional, remarks
from germane.api.wiring import Parts
from germane.memories.forget import forget, left_of
from germane.memories.receipt import Receipt
from germane.types.limits import ID, LABEL, NAME, TAG
from germane.types.scope import Scope

__all__ = ["forget_matching"]


async def forget_matching(
    parts: Parts,
    scope: Scope,
    *,
    ids: Sequence[str] | None,
    key: str | None,
    tag: str | None,
    session: str | None,
    source_kind: str | None,
    channel: str | None,
    user: str | None,
    everything: bool,
    dry_run: bool,
    by: str,
    reason: str,
) -> Receipt:
    """See `Agent.forget`. Raises `InvalidInput`."""
    flags(everything=everything, dry_run=dry_run)
    for name, value, limit in (
        *(("key", key, LABEL), ("tag", tag, TAG), ("session", session, ID), ("user", user, ID)),
        *(("source_kind", source_kind, NAME), ("channel", channel, NAME)),
    ):
        optional(name, value, limit)
    plan = forget(
        ids=None if ids is None else identifiers(ids),
        key=key,
        tag=tag,
        session=session,
        source_kind=source_kind,
        channel=channel,
        user=user,
        everything=everything,
        dry_run=dry_run,
        scope=scope,
        at=parts.clock.now(),
        **remarks(parts.secrets, by, reason),
    )
    journal = parts.store.within(scope).journal
    receipt = await journal.commit(plan)
    if dry_run:
        return receipt
    parts.engine.forget(scope)
    receipt = await journal.commit(left_of(receipt))
    unscrubbed = await journal.scrub()
    waiting_for = receipt.waiting_for or unscrubbed
    return replace(receipt, scrubbed=not waiting_for, waiting_for=waiting_for)
