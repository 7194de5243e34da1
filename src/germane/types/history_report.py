"""History report: what was done to the conversation of one request so that it fits (HIST-2), in figures."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HistoryReport"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport:
    """`tokens_before` and `tokens` are those of the messages with tools, of which there may be `max_tokens`; `fits` is false
    only where what may not be lost takes more. `masked` are tool outputs that a line stands for, `summarised` and `dropped`
    messages that left with and without a summary, `quarantined` messages whose call or result has lost its other half. `moves`
    counts how often the boundaries have moved: between two moves the prefix stays byte for byte. The newest one saved
    `saved_tokens` and made the provider read `cache_lost_tokens` anew; it has paid for itself after `pays_after` calls, None
    where no price is known. `cited` are the handles that bring back what left; `reasons` say what couldn't be done."""

    tokens_before: int
    tokens: int
    max_tokens: int
    fits: bool = True
    masked: int = 0
    summarised: int = 0
    dropped: int = 0
    quarantined: int = 0
    moves: int = 0
    saved_tokens: int = 0
    cache_lost_tokens: int = 0
    pays_after: float | None = None
    cited: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
