"""Shares: caps by kind, by source and in total, kept as items go in (BUD-6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from germane.types.candidate import Candidate, Reason
from germane.types.strategy import Cap, Shares

__all__ = ["Limit", "Tally"]

Measure = Literal["items", "chars", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What is left of one cap, and which of some candidates count against it."""

    measure: Measure
    room: int
    members: Sequence[bool]


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
        self._free = shares == Shares()

    def copy(self) -> Tally:
        """As it stands, to try something out on."""
        other = Tally(self._shares, self._available)
        other._items, other._chars, other._tokens = self._items.copy(), self._chars.copy(), self._tokens.copy()
        other.lenient = self.lenient
        return other

    def refuses(self, candidate: Candidate, text: str, tokens: int) -> Reason | None:
        """Why this may not go in now, or None."""
        if self._free:
            return None
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
        if self._free:
            return
        for group in ("total", f"source:{candidate.source}", *(f"kind:{kind}" for kind in _kinds(candidate))):
            self._items[group] += 1
            self._chars[group] += len(text)
            self._tokens[group] += tokens

    def grows(self, candidate: Candidate, chars: int, tokens: int) -> bool:
        """Whether what is in already may be this much longer; takes it if so."""
        groups = ("total", f"source:{candidate.source}", *(f"kind:{kind}" for kind in _kinds(candidate)))
        caps = (self._shares.total, *(self._shares.kinds.get(kind) for kind in _kinds(candidate)))
        for group, cap in zip((groups[0], *groups[2:]), caps, strict=True):
            if cap is not None and (
                (cap.chars is not None and self._chars[group] + chars > cap.chars)
                or (cap.tokens is not None and self._tokens[group] + tokens > cap.tokens)
            ):
                return False
        for group in groups:
            self._chars[group] += chars
            self._tokens[group] += tokens
        return True

    def limits(self, candidates: Sequence[Candidate]) -> Iterator[Limit]:
        """All that `refuses` holds against any of these, as it stands now."""
        everyone = [True] * len(candidates)
        yield from self._caps(self._shares.total, "total", everyone)
        kinds = [_kinds(candidate) for candidate in candidates]
        for kind, cap in self._shares.kinds.items():
            yield from self._caps(cap, f"kind:{kind}", [kind in own for own in kinds])
        for source, share in self._shares.sources.items():
            if not self.lenient or share == 0:
                room = int(self._available * share / 100) - self._tokens[f"source:{source}"]
                members = [candidate.source == source for candidate in candidates]
                yield Limit(measure="tokens" if share else "items", room=room if share else 0, members=members)

    def _caps(self, cap: Cap, group: str, members: Sequence[bool]) -> Iterator[Limit]:
        if not any(members):
            return
        closed = 0 in (cap.items, cap.chars, cap.tokens)
        if closed or cap.items is not None:
            yield Limit(measure="items", room=0 if closed else (cap.items or 0) - self._items[group], members=members)
        if cap.chars is not None:
            yield Limit(measure="chars", room=cap.chars - self._chars[group], members=members)
        if cap.tokens is not None:
            yield Limit(measure="tokens", room=cap.tokens - self._tokens[group], members=members)

    def _over(self, cap: Cap, group: str, text: str, tokens: int) -> bool:
        after = (
            (cap.items, self._items[group] + 1),
            (cap.chars, self._chars[group] + len(text)),
            (cap.tokens, self._tokens[group] + tokens),
        )
        return any(most is not None and (most == 0 or much > most) for most, much in after)


def _kinds(candidate: Candidate) -> tuple[str, ...]:
    return tuple(dict.fromkeys((candidate.category, *candidate.kinds)))
