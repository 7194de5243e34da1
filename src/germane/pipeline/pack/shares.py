"""Shares: counts what each cap has left, by kind, by source and in total, as items go in (BUD-6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from germane.types.candidate import Candidate, Reason
from germane.types.strategy import Cap, Shares

__all__ = ["CapUsage", "RemainingCap"]

Measure = Literal["items", "chars", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingCap:
    """What one cap has left (`room`, in units of `measure`), and which of some candidates count against it."""

    measure: Measure
    room: int
    members: Sequence[bool]


class CapUsage:
    """How much of each cap the items that went in have used. Mutable; lives for one packing.

    A kind's cap is hard. A source's share limits the source only while the others may still need theirs: with `lenient` set,
    a source may use what the others left over, unless its share is 0.
    """

    def __init__(
        self,
        shares: Shares,
        available: int,
        *,
        size: Callable[[Candidate, str], int] = lambda _, text: len(text),
        wrapper: Callable[[], int] = lambda: 0,
    ) -> None:
        """`size` returns the characters that a candidate takes when this text of it is shown, `wrapper` those around all."""
        self._shares, self._size, self._wrapper = shares, size, wrapper
        self._available = available
        self._items: dict[str, int] = defaultdict(int)
        self._chars: dict[str, int] = defaultdict(int)
        self._tokens: dict[str, int] = defaultdict(int)
        self.lenient = not shares.sources
        self._unlimited = not (shares.sources or shares.kinds) and shares.total == Cap()
        self._measures_chars = any(cap.chars is not None for cap in (shares.total, *shares.kinds.values()))
        self._chars["total"] = wrapper() if shares.total.chars else 0

    def copy(self) -> CapUsage:
        """An independent copy, to try a packing on."""
        other = CapUsage(self._shares, self._available, size=self._size, wrapper=self._wrapper)
        other._items, other._chars, other._tokens = self._items.copy(), self._chars.copy(), self._tokens.copy()
        other.lenient = self.lenient
        return other

    def size(self, candidate: Candidate, text: str) -> int:
        """Characters that the candidate takes when this text of it is shown."""
        return self._size(candidate, text)

    def refusal(self, candidate: Candidate, text: str, tokens: int) -> Reason | None:
        """Why this text of the candidate may not go in now; None if it may."""
        if self._unlimited:
            return None
        size = self._size(candidate, text) if self._measures_chars else 0
        if self._exceeds(self._shares.total, "total", size, tokens):
            return "budget"
        for kind in self._kinds(candidate):
            cap = self._shares.kinds.get(kind)
            if cap is not None and self._exceeds(cap, f"kind:{kind}", size, tokens):
                return "kind_cap"
        source = self._source(candidate)
        share = self._shares.sources.get(source)
        if share is None:
            return None
        allowed = self._available if self.lenient else int(self._available * share / 100)
        taken = self._tokens[f"source:{source}"] + tokens
        return "source_cap" if share == 0 or taken > allowed else None

    def add(self, candidate: Candidate, text: str, tokens: int) -> None:
        """Counts an item that goes in."""
        if self._unlimited:
            return
        size = self._size(candidate, text) if self._measures_chars else 0
        for group in ("total", f"source:{self._source(candidate)}", *(f"kind:{kind}" for kind in self._kinds(candidate))):
            self._items[group] += 1
            self._chars[group] += size
            self._tokens[group] += tokens

    def chars_left(self, candidate: Candidate) -> int | None:
        """The characters that the candidate may take when shown; None where no cap limits them."""
        if not self._measures_chars:
            return None
        kinds = [(f"kind:{kind}", self._shares.kinds.get(kind)) for kind in self._kinds(candidate)]
        caps = [(group, cap.chars) for group, cap in (("total", self._shares.total), *kinds) if cap is not None]
        return min((chars - self._chars[group] for group, chars in caps if chars is not None), default=None)

    def extend(self, candidate: Candidate, before: str, after: str, tokens: int) -> bool:
        """Counts that an item which is already in grows from one text to another, for this many tokens more, if its caps allow
        it; returns whether they do."""
        groups = ("total", f"source:{self._source(candidate)}", *(f"kind:{kind}" for kind in self._kinds(candidate)))
        caps = (self._shares.total, *(self._shares.kinds.get(kind) for kind in self._kinds(candidate)))
        chars = self._size(candidate, after) - self._size(candidate, before) if self._measures_chars else 0
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

    def remaining(self, candidates: Sequence[Candidate]) -> Iterator[RemainingCap]:
        """Every cap that `refusal` would hold against one of these candidates, with what it has left now."""
        everyone = [True] * len(candidates)
        yield from self._remaining(self._shares.total, "total", everyone)
        kinds = [self._kinds(candidate) for candidate in candidates]
        for kind, cap in self._shares.kinds.items():
            yield from self._remaining(cap, f"kind:{kind}", [kind in own for own in kinds])
        for source, share in self._shares.sources.items():
            if not self.lenient or share == 0:
                room = int(self._available * share / 100) - self._tokens[f"source:{source}"]
                members = [self._source(candidate) == source for candidate in candidates]
                yield RemainingCap(measure="tokens" if share else "items", room=room if share else 0, members=members)

    def _remaining(self, cap: Cap, group: str, members: Sequence[bool]) -> Iterator[RemainingCap]:
        if not any(members):
            return
        closed = 0 in (cap.items, cap.chars, cap.tokens)
        if closed or cap.items is not None:
            room = 0 if closed else (cap.items or 0) - self._items[group]
            yield RemainingCap(measure="items", room=room, members=members)
        if cap.chars is not None:
            yield RemainingCap(measure="chars", room=cap.chars - self._chars[group], members=members)
        if cap.tokens is not None:
            yield RemainingCap(measure="tokens", room=cap.tokens - self._tokens[group], members=members)

    def _exceeds(self, cap: Cap, group: str, size: int, tokens: int) -> bool:
        after = (
            (cap.items, self._items[group] + 1),
            (cap.chars, self._chars[group] + size),
            (cap.tokens, self._tokens[group] + tokens),
        )
        return any(limit is not None and (limit == 0 or used > limit) for limit, used in after)

    def _source(self, candidate: Candidate) -> str:
        """The source whose percentage the candidate counts against."""
        return self._shares.source_pools.get(candidate.source, candidate.source)

    def _kinds(self, candidate: Candidate) -> tuple[str, ...]:
        """The kinds whose caps the candidate counts against."""
        pools = self._shares.pools
        return tuple(dict.fromkeys(pools.get(kind, kind) for kind in (candidate.category, *candidate.kinds)))
