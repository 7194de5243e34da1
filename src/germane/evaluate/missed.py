"""Missed: the evidence that a context didn't show, with its text, and what stood in its place."""

from __future__ import annotations

from collections.abc import Sequence

from germane.api.agent import Agent
from germane.errors import InvalidInput, NotFound
from germane.evaluate.answered import MissedEvidence
from germane.types.context import Context

__all__ = ["cut", "missed_evidence", "nearest_budget"]

_TYPICAL = 1000
"""Tokens of the budget that missed evidence is shown for, or the one nearest to it."""
_TEXT, _INSTEAD = 400, 200
"""Characters that are kept of each text."""
_ITEMS = 3


def nearest_budget(budgets: Sequence[int]) -> int:
    """Returns the budget that is nearest to 1,000 tokens."""
    return min(budgets, key=lambda budget: abs(budget - _TYPICAL))


async def missed_evidence(
    agent: Agent, context: Context, evidence: Sequence[str], shares: Sequence[float]
) -> tuple[MissedEvidence, ...]:
    """Returns the evidence messages of which nothing is shown. `shares` is the shown share of each of `evidence`. What stood in
    the place of each are the best items that are no evidence."""
    wanted = set(evidence)
    others = sorted(context.items, key=lambda item: item.scored.rank)
    instead = tuple(cut(one.text, _INSTEAD) for one in others if (one.provenance.message_id or one.id) not in wanted)[:_ITEMS]
    missed = [id for id, share in zip(evidence, shares, strict=True) if not share]
    return tuple([MissedEvidence(id=id, text=await _text(agent, id), instead=instead) for id in missed])


async def _text(agent: Agent, id: str) -> str:
    try:
        return cut((await agent.find(id)).text, _TEXT)
    except (NotFound, InvalidInput):
        return ""


def cut(text: str, limit: int) -> str:
    """Returns the text in one line of at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
