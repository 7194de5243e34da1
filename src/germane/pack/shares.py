"""Shares: caps by kind, by source and in total, kept as items go in (BUD-6)."""

from __future__ import annotations

from collections import defaultdict

from germane.item import Candidate, Reason
from germane.strategy import Cap, Shares

__all__ = ["Tally"]


class Tally:
    """What has gone in so far, by group. Mutable, and lives no longer than one packing.

    A kind's cap is hard. A source's share is what it may take while the others still want theirs: `lenient` offers
    everyone what is left over.
    """

    def __init__(self, shares: Shares, available: int) -> None:
        self._shares = shares
        self._available = available
        self._items: dict[str, int] = defaultdict(int)
        self._chars: dict[str, int] = defaultdict(int)
        self._tokens: dict[str, int] = defaultdict(int)
        self.lenient = not shares.sources

    def refuses(self, candidate: Candidate, text: str, tokens: int) -> Reason | None:
        """Why this may not go in now, or None."""
        if self._over(self._shares.total, "total", text, tokens):
            return "budget"
        for kind in _kinds(candidate):
            cap = self._shares.kinds.get(kind)
            if cap is not None and self._over(cap, f"kind:{kind}", text, tokens):
                return "kind_cap"
        share = self._shares.sources.get(candidate.source)
        if share is None:
            return None
        allowed = self._available if self.lenient else int(self._available * share / 100)
        taken = self._tokens[f"source:{candidate.source}"] + tokens
        return "source_cap" if share == 0 or taken > allowed else None

    def take(self, candidate: Candidate, text: str, tokens: int) -> None:
        for group in ("total", f"source:{candidate.source}", *(f"kind:{kind}" for kind in _kinds(candidate))):
            self._items[group] += 1
            self._chars[group] += len(text)
            self._tokens[group] += tokens

    def _over(self, cap: Cap, group: str, text: str, tokens: int) -> bool:
        after = (
            (cap.items, self._items[group] + 1),
            (cap.chars, self._chars[group] + len(text)),
            (cap.tokens, self._tokens[group] + tokens),
        )
        return any(most is not None and (most == 0 or much > most) for most, much in after)


def _kinds(candidate: Candidate) -> tuple[str, ...]:
    return tuple(dict.fromkeys((candidate.category, *candidate.kinds)))
