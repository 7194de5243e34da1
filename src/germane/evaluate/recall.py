"""Recall: how much of a question's evidence is ranked or shown, as plain functions of ranks and of shown shares.

A shortened message counts with its shown share. Breadcrumbs and summaries count nothing: none of their items carries the id of
the message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from germane.types.candidate import Chosen, Scored

__all__ = [
    "WHOLE",
    "any_at",
    "any_within",
    "every_at",
    "every_within",
    "fraction_at",
    "fraction_within",
    "ranks",
    "shares",
    "touched_within",
]

WHOLE = 0.999
"""The shown share from which on a message counts as whole."""


def ranks(ranked: Iterable[Scored], evidence: Collection[str]) -> tuple[int | None, ...]:
    """The rank of each evidence message among the distinct messages of `ranked`, counted from 1, in the order of the sorted
    ids; None for a message that isn't ranked. Of several pieces of one message the best rank counts."""
    found: dict[str, int] = {}
    for scored in sorted(ranked, key=lambda scored: scored.rank):
        found.setdefault(scored.candidate.provenance.message_id or scored.id, len(found) + 1)
    return tuple(found.get(id) for id in sorted(evidence))


def shares(items: Iterable[Chosen], evidence: Collection[str]) -> tuple[float, ...]:
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids. Pieces of one message add up; a memory
    that was extracted from a message shows the part of it that it states."""
    found = dict.fromkeys(sorted(evidence), 0.0)
    for item in items:
        id = item.provenance.message_id
        if id in found:
            found[id] = min(1.0, found[id] + item.share * item.provenance.metadata.get("share", 1.0))
    return tuple(found.values())


def any_at(ranks: Sequence[int | None], k: int) -> float:
    """1.0 when at least one evidence message is among the first k."""
    return float(any(rank is not None and rank <= k for rank in ranks))


def every_at(ranks: Sequence[int | None], k: int) -> float:
    """1.0 when every evidence message is among the first k."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def fraction_at(ranks: Sequence[int | None], k: int) -> float:
    """The share of the evidence messages that are among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def any_within(shares: Sequence[float]) -> float:
    """1.0 when any part of any evidence message is shown."""
    return float(any(share > 0 for share in shares))


def every_within(shares: Sequence[float]) -> float:
    """1.0 when every evidence message is shown whole."""
    return float(all(share >= WHOLE for share in shares))


def fraction_within(shares: Sequence[float]) -> float:
    """The mean shown share of the evidence messages."""
    return sum(shares) / len(shares)


def touched_within(shares: Sequence[float]) -> float:
    """The share of the evidence messages of which any part is shown."""
    return sum(share > 0 for share in shares) / len(shares)
