"""Budget: the arithmetic of tokens: window, reserve, safety margin, what is available (BUD-3, BUD-5)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Budget", "allocate"]

_CONSTRAINED = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """All numbers are tokens of the target model. `available` is what germane may add, wrappers included."""

    window: int
    messages: int
    tools: int
    reserve: int
    safety: int
    available: int
    cap: int
    exceeds_window: bool
    """True where the messages and tools alone don't fit beside reserve and safety margin: nothing is added."""

    @property
    def is_constrained(self) -> bool:
        return self.available < _CONSTRAINED


def allocate(
    *,
    window: int,
    max_output: int,
    messages: int,
    tools: int,
    safety_fraction: float,
    cap: int,
    overhead: int = 0,
    reserve: int | None = None,
) -> Budget:
    """window − messages − tools − reserve − safety − overhead, floored at 0, never above `cap`.

    reserve = clamp(15 % of the window, 500, 4,096) unless given, never above the model's max output; safety is a fraction of
    the window.
    `overhead` is what germane's own messages cost beside their text, and what a dialect adds to the caller's messages. Sizes
    are 0 or more.
    """
    reserve = min(min(max(int(window * 0.15), 500), 4096) if reserve is None else reserve, max_output)
    safety = int(window * safety_fraction)
    room = window - messages - tools - reserve - safety
    return Budget(
        window=window,
        messages=messages,
        tools=tools,
        reserve=reserve,
        safety=safety,
        available=max(0, min(room - overhead, cap)),
        cap=cap,
        exceeds_window=room < 0,
    )
