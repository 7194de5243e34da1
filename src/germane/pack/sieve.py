"""Sieve: what may be packed at all: the best of each content, and only of an allowed sensitivity.

Both were seen to before: sources are filtered, candidates merged. Here it is checked again, on what is about to be shown
(GATHER-3, GATHER-5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from germane.item import Reason, Scored, Sensitivity

__all__ = ["Sieve"]


class Sieve:
    """Items are shown to it best first, each once. `seen` are contents that are there already, by their hashes."""

    def __init__(self, sensitivities: Collection[Sensitivity], seen: Iterable[int] = ()) -> None:
        self._allowed = frozenset(sensitivities)
        self._seen = set(seen)

    def refuses(self, item: Scored) -> Reason | None:
        """Why it may not go in; None, and its content counts as seen, when it may."""
        candidate = item.candidate
        if candidate.sensitivity not in self._allowed:
            return "sensitivity"
        code = candidate.content_hash
        if code:
            if code in self._seen:
                return "duplicate"
            self._seen.add(code)
        return None
