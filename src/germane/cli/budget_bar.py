"""Budget bar: draws how the tokens of a context window are spent, in colours or, without colours, in letters."""

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
    """A part of a bar, drawn in `colour`, or as `letter` where there are no colours."""

    name: str
    tokens: int
    colour: str
    letter: str


def slices(budget: Budget, trace: Trace, metadata: Metadata) -> tuple[tuple[Slice, ...], tuple[Slice, ...]]:
    """Returns the parts of the whole window, and the parts of the budget that germane may use."""
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
    """Returns the title, the bar, and a legend with the tokens of each part. Empty parts are left out."""
    shown = [part for part in parts if part.tokens > 0]
    width = max(10, min(console.width, 100) - 2)
    line = Text(f"{title} {total:,} tokens\n", style="bold")
    colour = console.color_system is not None and not console.no_color
    for part, columns in zip(shown, widths([part.tokens for part in shown], width), strict=True):
        line.append("█" * columns if colour else part.letter * columns, style=f"not bold {part.colour}")
    line.append("\n")
    for part in shown:
        line.append("■ " if colour else f"{part.letter} ", style=f"not bold {part.colour}")
        line.append(f"{part.name} {part.tokens:,}   ", style="not bold")
    return line


def widths(tokens: Sequence[int], total_width: int) -> list[int]:
    """Returns the number of columns of each part: `total_width` in all, in proportion to `tokens` by the largest-remainder
    method, at least one each."""
    total = sum(tokens)
    if not total:
        return [0 for _ in tokens]
    exact = [count * total_width / total for count in tokens]
    columns = [max(1, int(share)) for share in exact]
    order = sorted(range(len(tokens)), key=lambda index: exact[index] - int(exact[index]), reverse=True)
    for index in order:
        columns[index] += sum(columns) < total_width
    while (over := sum(columns) - total_width) > 0 and max(columns) > 1:
        columns[columns.index(max(columns))] -= min(over, max(columns) - 1)
    columns[columns.index(max(columns))] += max(0, total_width - sum(columns))
    return columns
