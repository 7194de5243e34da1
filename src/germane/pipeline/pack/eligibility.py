"""Eligibility: checks before packing: nothing twice, near-duplicates included; only allowed sensitivities (GATHER-3, GATHER-5).

Sources filter by sensitivity and candidates are merged before scoring; this checks both again on what is about to be shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from germane.types.candidate import Candidate, LeftOut, Scored, Sensitivity

__all__ = ["Eligibility"]


class Eligibility:
    """Filters items, which must come best first and each once. `seen` are candidates that are already in the context;
    `refused` collects the items that didn't pass."""

    def __init__(self, sensitivities: Collection[Sensitivity], seen: Iterable[Candidate] = ()) -> None:
        self._allowed = frozenset(sensitivities)
        shown = list(seen)
        self._seen: set[int | str] = {one.content_hash for one in shown}.union(one.id for one in shown)
        self.refused: list[LeftOut] = []

    def filter(self, items: Iterable[Scored]) -> list[Scored]:
        """The items that may go in, in the same order."""
        allowed, seen, passed = self._allowed, self._seen, list[Scored]()
        for item in items:
            candidate = item.candidate
            code = candidate.content_hash
            if candidate.sensitivity not in allowed:
                self.refused.append(LeftOut(scored=item, reason="sensitivity"))
            elif (code and code in seen) or not seen.isdisjoint(candidate.near_duplicates):
                self.refused.append(LeftOut(scored=item, reason="duplicate"))
            else:
                seen.add(code)
                if candidate.near_duplicates:
                    seen.add(candidate.id)
                passed.append(item)
        return passed
