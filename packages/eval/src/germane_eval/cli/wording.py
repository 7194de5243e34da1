"""Wording: formats figures, intervals and descriptions of a run for tables and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from germane_eval.dataset import Dropped
from germane_eval.everyday import OPEN, TurnFigure
from germane_eval.metrics import LEVELS, Cost, Metric, Reuse
from germane_eval.report import Run

_NEARLY_ALL_REUSE, _HIGH_REUSE = 0.9, 0.5
"""The share of the caller's own reuse that counts as nearly all, and a reuse that counts as high."""

_CLOCKS = {"today": "today"}
_PARTICULARS = re.compile(r"(?<=evidence )\S+|'[^']*'|(?<!\S)[^\s\d]*+\d\S*")


def formatted(metric: Metric, value: float) -> str:
    """`value` as percent (`86.1`) or as tokens (`966`)."""
    return f"{value:,.0f}" if metric.unit == "tokens" else f"{100 * value:.1f}"


def formatted_difference(metric: Metric, value: float) -> str:
    """A difference in points of percent (`+1.2`) or in tokens (`−14`); zero has no sign."""
    text = f"{value:+,.0f}" if metric.unit == "tokens" else f"{100 * value:+.1f}"
    text = text.replace("-", "−")
    return text[1:] if text[1:].strip("0.,") == "" else text


def spread(metric: Metric, mean: float, low: float | None, high: float | None) -> str:
    """`±2.4`: the distance from the mean to the farther end of the interval; empty without an interval."""
    return half_width(mean, low, high) if metric.unit == "tokens" else half_width(mean, low, high, 100, 1)


def half_width(mean: float, low: float | None, high: float | None, scale: float = 1, digits: int = 0) -> str:
    """`±2.4`: the distance from the mean to the farther end of the interval, times `scale`; empty without an interval."""
    if low is None or high is None:
        return ""
    return f"±{scale * max(high - mean, mean - low):,.{digits}f}"


def percent(share: float | None, low: float | None = None, high: float | None = None) -> str:
    """`86.1 ±2.4`: a share (0 to 1) as percent, with its interval where it has one; empty for None."""
    return "" if share is None else f"{100 * share:.1f} {half_width(share, low, high, 100, 1):>5}".rstrip()


def talks(run: Run) -> str:
    """How the requests of everyday data were put."""
    shared = f"{run.talk} requests share one" if run.talk != 1 else "each request opens one of its own"
    return f"Turns of conversations: {shared}"


def clocked(clock: str) -> str:
    """A clock in words: `end+1h` is "the conversation's end + 1 h"."""
    if clock.startswith("end"):
        after = re.fullmatch(r"end\+(\d+)(\w)", clock)
        return f"the conversation's end + {after[1]} {after[2]}" if after else "the conversation's end"
    return _CLOCKS.get(clock, clock)


def run_lines(run: Run) -> list[tuple[str, str]]:
    """Describes a run: pairs of a label and a text."""
    questions = f"{run.asked:,} of {run.questions:,} questions" if run.asked < run.questions else f"{run.asked:,} questions"
    embedder = run.embedder + (f", relevance {run.relevance}" if run.relevance else "")
    return [
        ("data", f"{run.dataset} ({run.format}): {run.conversations} conversations, {run.messages:,} messages, {questions}"),
        ("measured", f"strategy {run.strategy}, embedder {embedder}, tokens of {run.model} ({run.tokenizer})"),
        ("by", f"germane {run.version}, {run.date:%Y-%m-%d}, {run.machine}"),
        *([("left out", left_out(run.dropped))] if run.dropped else []),
        *[("note", warning) for warning in run.warnings],
    ]


def left_out(dropped: Iterable[Dropped], max_reasons: int = 4) -> str:
    """The reasons with their counts, the most frequent first."""
    reasons = Counter(_PARTICULARS.sub("…", entry.reason) for entry in dropped).most_common()
    parts = [f"{count} × {reason}" for reason, count in reasons[:max_reasons]]
    rest = sum(count for _, count in reasons[max_reasons:])
    return "; ".join(parts) + (f"; {rest} more" if rest else "")


def resampling(resampled: str, conversations: int) -> str:
    """Explains the confidence intervals. `resampled` is what the bootstrap draws: conversations or questions."""
    drawn = f"by drawing {resampled} again"
    if resampled == "questions":
        few = f"{conversations} conversation{'s are' if conversations != 1 else ' is'} too few to draw from"
        return f"± is the farther end of the interval that holds 95 % of the means {drawn} ({few})"
    return f"± is the farther end of the interval that holds 95 % of the means {drawn}"


def levels(shares: tuple[float, ...]) -> str:
    """The shares (0 to 1) of the degradation levels: `100.0 % at L0 (every source)`, then the levels that occurred."""
    parts = []
    for name, share in zip(LEVELS, shares, strict=True):
        level, _, says = name.partition(" ")
        if share or level == "L0":
            parts.append(f"{100 * share:.1f} % at {level} ({says})")
    return ", ".join(parts)


def reused(reuse: Reuse) -> str:
    """Describes how much of the prompts a provider's prefix cache could serve."""
    return (
        f"{100 * reuse.share:.1f} % of the prompts' tokens begin as the call before in the session did "
        f"({100 * reuse.own:.1f} % would without germane's text; {reuse.calls:,} calls)"
    )


def reuse_advice(reuse: Reuse) -> str:
    """What to do about a low prefix reuse; empty where it is as high as the caller's own prompts allow, or nearly."""
    if reuse.share < _NEARLY_ALL_REUSE * reuse.own:
        return (
            "germane's text breaks prefixes that your prompts would share: use a strategy with placement append (default has"
            " it), pass the session in every call, and don't change the directive during a session."
        )
    if reuse.own < _HIGH_REUSE:
        return (
            "Your own prompts begin anew from call to call: keep the system prompt and the tools the same, put what changes"
            " (the time, an id) into the newest message, and don't drop old messages one by one."
        )
    return ""


def budget_head(budget: int) -> str:
    """The head of a column: `1,000`, or `free` without a budget."""
    return "free" if budget == OPEN else f"{budget:,}"


def within(budget: int) -> str:
    """A budget in words."""
    return "without a budget" if budget == OPEN else f"within {budget:,} tokens"


def with_effort(effort: str) -> str:
    """An effort in words; the strategy's own is empty."""
    return f"effort {effort}" if effort else "the strategy's effort"


def without_need(figure: TurnFigure) -> str:
    """Describes what was added to turns that no memory helps with."""
    return (
        f"{100 * figure.share:.1f} % of {figure.count:,} turns that need no memory got items, "
        f"{figure.tokens:,.0f} tokens per turn were added"
    )


def dollars(amount: float | None) -> str:
    """`3.57`: US dollars; empty where the price is unknown."""
    return "" if amount is None else f"{amount:,.2f}" if amount >= 1 else f"{amount:.3f}"


def costs(cost: Cost, model: str) -> str:
    """Describes the price of a thousand replayed calls."""
    price = f"price of {cost.dated}" if cost.dated else "your price"
    whole, cached = dollars(cost.whole), dollars(cost.whole_cached)
    return (
        f"a thousand replayed calls of {model} cost ${whole}, or ${cached} with a prefix cache "
        f"(${dollars(cost.own)} and ${dollars(cost.own_cached)} without germane's text; input tokens, {price})"
    )
