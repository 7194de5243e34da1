"""Recall: how much of a question's evidence was found. Pure sums over ranks and over the shares that are shown.

A shortened message earns the share of it that is shown; breadcrumbs and summaries earn nothing, as no item of theirs carries
the message's id.
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
"""The share from which a message counts as shown whole."""


def ranks(ranked: Iterable[Scored], evidence: Collection[str]) -> tuple[int | None, ...]:
    """The rank of each evidence message, in the order of the ids, among the distinct messages of `ranked`, counted from 1.
    Several pieces of one message rank as the best of them."""
    places: dict[str, int] = {}
    for scored in sorted(ranked, key=lambda scored: scored.rank):
        places.setdefault(scored.candidate.provenance.message_id or scored.id, len(places) + 1)
    return tuple(places.get(id) for id in sorted(evidence))


def shares(items: Iterable[Chosen], evidence: Collection[str]) -> tuple[float, ...]:
    """The share of each evidence message that is shown, in the order of the ids; pieces of one message add up to 1 at most."""
    found = dict.fromkeys(sorted(evidence), 0.0)
    for item in items:
        id = item.provenance.message_id
        if id in found:
            found[id] = min(1.0, found[id] + item.share)
    return tuple(found.values())


def any_at(ranks: Sequence[int | None], k: int) -> float:
    """1 when some of the evidence is among the first k."""
    return float(any(rank is not None and rank <= k for rank in ranks))


def every_at(ranks: Sequence[int | None], k: int) -> float:
    """1 when all of the evidence is among the first k."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def fraction_at(ranks: Sequence[int | None], k: int) -> float:
    """The share of the evidence that is among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def any_within(shares: Sequence[float]) -> float:
    """1 when some part of some evidence is shown."""
    return float(any(share > 0 for share in shares))


def every_within(shares: Sequence[float]) -> float:
    """1 when all of the evidence is shown whole."""
    return float(all(share >= WHOLE for share in shares))


def fraction_within(shares: Sequence[float]) -> float:
    """The share of the evidence that is shown."""
    return sum(shares) / len(shares)


def touched_within(shares: Sequence[float]) -> float:
    """The share of the evidence messages of which any part is shown."""
    return sum(share > 0 for share in shares) / len(shares)
