"""Budget bar: where the window's tokens go, and germane's own share, as coloured bars; as letters where there is no colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.text import Text

from germane.types.budget import Budget
from germane.types.context import Metadata
from germane.types.trace import Trace

__all__ = ["Slice", "bar", "slices", "widths"]


class Slice(NamedTuple):
    """Part of a bar: `letter` stands for it where there is no colour."""

    name: str
    tokens: int
    colour: str
    letter: str


def slices(budget: Budget, trace: Trace, metadata: Metadata) -> tuple[tuple[Slice, ...], tuple[Slice, ...]]:
    """The window's parts, and the parts of what germane may add."""
    added = metadata.total_tokens_injected
    recalled = sum(item.tokens for item in trace.chosen if item.category == "conversation")
    memories = sum(item.tokens for item in trace.chosen) - recalled
    free = max(0, budget.window - budget.messages - budget.tools - added - budget.reserve - budget.safety)
    window = (
        Slice("messages", budget.messages, "blue", "M"),
        Slice("tools", budget.tools, "magenta", "T"),
        Slice("germane", added, "green", "G"),
        Slice("free", free, "bright_black", "."),
        Slice("reserve for the answer", budget.reserve, "yellow", "R"),
        Slice("safety", budget.safety, "red", "S"),
    )
    own = (
        Slice("directive and wrapper", max(0, added - recalled - memories), "magenta", "D"),
        Slice("memories", memories, "green", "K"),
        Slice("conversation", recalled, "cyan", "C"),
        Slice("unused", max(0, budget.available - added), "bright_black", "."),
    )
    return window, own


def bar(console: Console, title: str, total: int, parts: Sequence[Slice]) -> Text:
    """Two lines: the bar, and what each colour or letter is with its tokens."""
    shown = [part for part in parts if part.tokens > 0]
    room = max(10, min(console.width, 100) - 2)
    line = Text(f"{title} {total:,} tokens\n", style="bold")
    colour = console.color_system is not None and not console.no_color
    for part, width in zip(shown, widths([part.tokens for part in shown], room), strict=True):
        line.append("█" * width if colour else part.letter * width, style=f"not bold {part.colour}")
    line.append("\n")
    for part in shown:
        line.append("■ " if colour else f"{part.letter} ", style=f"not bold {part.colour}")
        line.append(f"{part.name} {part.tokens:,}   ", style="not bold")
    return line


def widths(tokens: Sequence[int], room: int) -> list[int]:
    """Columns for each part, in proportion (largest remainder), at least one for what isn't nothing, `room` in all."""
    total = sum(tokens)
    if not total:
        return [0 for _ in tokens]
    exact = [count * room / total for count in tokens]
    columns = [max(1, int(share)) for share in exact]
    order = sorted(range(len(tokens)), key=lambda at: exact[at] - int(exact[at]), reverse=True)
    for at in order:
        columns[at] += sum(columns) < room
    while (over := sum(columns) - room) > 0 and max(columns) > 1:
        columns[columns.index(max(columns))] -= min(over, max(columns) - 1)
    columns[columns.index(max(columns))] += max(0, room - sum(columns))
    return columns
