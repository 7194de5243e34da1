"""Forgetting: removes all that an org, or one agent of it, has stored: its users first, then what is agent-wide."""

from __future__ import annotations

from dataclasses import replace

from germane.api.agent import Agent
from germane.api.wiring import Parts
from germane.memories.receipt import Receipt
from germane.types.limits import PAGE
from germane.types.scope import Scope

__all__ = ["forget_org"]


async def forget_org(parts: Parts, org: str, agent: str | None, *, dry_run: bool, by: str, reason: str) -> Receipt:
    """See `Germane.forget`. Each owner is forgotten in a commit of its own; a call that was interrupted is completed by the
    next one."""
    receipt = Receipt(dry_run=dry_run)
    for name in [agent] if agent is not None else await _agents(parts, org):
        scope = Scope(org=org, agent=name)
        for user in [*await _users(parts, scope), None]:
            owner = Agent(parts, Scope(org=org, agent=name, user=user))
            receipt = _with(receipt, await owner.forget(everything=True, dry_run=dry_run, by=by, reason=reason))
    return receipt


def _with(receipt: Receipt, more: Receipt) -> Receipt:
    """Both receipts as one; it says what was checked in each of them, and what the last one says of the files."""
    checked = more.checked if not receipt else tuple(place for place in receipt.checked if place in more.checked)
    return replace(
        more,
        memory_ids=receipt.memory_ids + more.memory_ids,
        event_ids=receipt.event_ids + more.event_ids,
        block_ids=receipt.block_ids + more.block_ids,
        graph_ids=receipt.graph_ids + more.graph_ids,
        task_ids=receipt.task_ids + more.task_ids,
        history_ids=receipt.history_ids + more.history_ids,
        checked=checked,
    )


async def _agents(parts: Parts, org: str) -> list[str]:
    names, cursor = list[str](), None
    while True:
        page = await parts.store.agents(org, PAGE.maximum, cursor)
        names += [one.agent for one in page.agents]
        if (cursor := page.cursor) is None:
            return names


async def _users(parts: Parts, scope: Scope) -> list[str]:
    names, cursor = list[str](), None
    while True:
        page = await parts.store.within(scope).inventory.users(PAGE.maximum, cursor)
        names += [one.user for one in page.users]
        if (cursor := page.cursor) is None:
            return names
