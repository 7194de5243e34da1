"""Plain layout: a layout with costs that are easy to predict, and random items and strategies for tests of the packers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from germane.api.strategies import COMPACT
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.strategy import Cap, Shares, Strategy
from germane_testing.builders import candidate

__all__ = ["RANK", "Excerpt", "PlainLayout", "item", "ranked", "scored_items", "strategies"]

RANK = replace(COMPACT, packer="rank")


@dataclass(frozen=True)
class Excerpt:
    text: str
    share: float


class PlainLayout:
    """A layout in which a character costs one token, and the items of a session stand under one header. The final text takes
    `extra` tokens more (or fewer) for each item than the sum of the costs. `calls` and `totals` count calls of `cost` and
    `total`."""

    def __init__(self, *, header: int = 0, wrapper: int = 0, extra: int = 0, excerpts: bool = False) -> None:
        self.header_tokens, self.wrapper, self.extra, self.excerpts = header, wrapper, extra, excerpts
        self.calls = self.totals = 0

    def fixed(self, directive: str) -> int:
        return len(directive) + self.wrapper

    def cost(self, candidate: Candidate, text: str) -> int:
        self.calls += 1
        return len(text)

    def group(self, candidate: Candidate) -> str:
        return candidate.session or candidate.category

    def header(self, candidate: Candidate) -> int:
        return self.header_tokens

    def chars(self, candidate: Candidate, text: str) -> int:
        return len(text)

    def wrapper_chars(self) -> int:
        return self.wrapper

    def shorten(self, candidate: Candidate, tokens: int, chars: int | None = None) -> Excerpt | None:
        room = tokens - self.header_tokens if chars is None else min(tokens - self.header_tokens, chars)
        if not self.excerpts or room < 8:
            return None
        return Excerpt(candidate.text[:room], min(1.0, room / len(candidate.text)))

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        self.totals += 1
        headers = self.header_tokens * len({self.group(item.scored.candidate) for item in chosen})
        items = sum(len(item.text) + self.extra for item in chosen)
        return len(directive) + items + headers + (self.wrapper if chosen else 0)


def item(text: str | int, rank: int = 1, *, log_odds: float | None = None, **fields: Any) -> Scored:
    """A scored item. A number as `text` is the length of a generated one. A lower rank has a higher score."""
    text = text if isinstance(text, str) else f"{rank:03}".ljust(text, ".")[:text]
    odds = -float(rank) if log_odds is None else log_odds
    parts = Breakdown(relevance=0.5, recency=0.5, usefulness=0.5, confidence=0.5, frequency=0.0)
    made = candidate(text, **{"id": f"i{rank:03}", "content_hash": rank, "session": "s1"} | fields)
    return Scored(candidate=made, score=0.5, log_odds=odds, breakdown=parts, rank=rank)


def ranked(*sizes: int, **fields: Any) -> list[Scored]:
    """Items of these sizes, best first."""
    return [item(size, rank, **fields) for rank, size in enumerate(sizes, 1)]


@st.composite
def scored_items(draw: st.DrawFn, max_items: int = 14) -> list[Scored]:
    """Random items in score order, from several sources, sessions and kinds; some are required, sensitive or duplicates."""
    odds = sorted((draw(st.lists(st.floats(-12, 4), max_size=max_items))), reverse=True)
    return [
        item(
            draw(st.integers(1, 300)),
            rank,
            log_odds=value,
            source=draw(st.sampled_from(["memories", "messages", "recent"])),
            session=draw(st.sampled_from(["s1", "s2", None])),
            category=draw(st.sampled_from(["factual", "preference", "conversation"])),
            kinds=(draw(st.sampled_from(["factual", "event", "episodic"])),),
            content_hash=draw(st.sampled_from([0, 1, 2, rank + 10])),
            required=draw(st.integers(0, 5)) == 0,
            sensitivity=draw(st.sampled_from(["public", "private", "private", "sensitive"])),
        )
        for rank, value in enumerate(odds, 1)
    ]


@st.composite
def strategies(draw: st.DrawFn) -> Strategy:
    limit = st.none() | st.integers(0, 400)
    few = st.none() | st.integers(0, 5)
    caps = st.builds(Cap, items=few, chars=limit, tokens=limit)
    sources = draw(st.just({}) | st.fixed_dictionaries({"messages": st.integers(0, 60), "memories": st.integers(0, 40)}))
    shares = Shares(
        sources=sources,
        kinds=draw(st.dictionaries(st.sampled_from(["factual", "event", "conversation"]), caps, max_size=2)),
        total=draw(st.just(Cap()) | caps),
    )
    return replace(COMPACT, packer=draw(st.sampled_from(["rank", "density", "exact", "auto"])), shares=shares)
