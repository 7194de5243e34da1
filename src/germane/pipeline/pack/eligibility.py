"""Sieve: what may be packed at all: the best of each content, and only of an allowed sensitivity.

Both were seen to before: sources are filtered, candidates merged. Here it is checked again, on what is about to be shown
(GATHER-3, GATHER-5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from germane.types.candidate import LeftOut, Scored, Sensitivity

__all__ = ["Eligibility"]


class Eligibility:
    """Items are shown to it best first, each once. `seen` are contents that are there already, by their hashes; `refused` is
    what didn't pass."""

    def __init__(self, sensitivities: Collection[Sensitivity], seen: Iterable[int] = ()) -> None:
        self._allowed = frozenset(sensitivities)
        self._seen = set(seen)
        self.refused: list[LeftOut] = []

    def through(self, items: Iterable[Scored]) -> list[Scored]:
        """Those that may go in."""
        allowed, seen, passed = self._allowed, self._seen, list[Scored]()
        for item in items:
            candidate = item.candidate
            code = candidate.content_hash
            if candidate.sensitivity not in allowed:
                self.refused.append(LeftOut(scored=item, reason="sensitivity"))
            elif code and code in seen:
                self.refused.append(LeftOut(scored=item, reason="duplicate"))
            else:
                seen.add(code)
                passed.append(item)
        return passed
