"""Metrics: the measured quantities, their means with intervals, and tokens, cost and latency.

A metric has a name, a description for readers, and the function that takes it from an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, nan
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from germane.catalog.profiles import Price
from germane_eval.answers import (
    Answered,
    Shown,
    Unlimited,
    any_at,
    any_within,
    every_at,
    every_within,
    fraction_at,
    fraction_within,
    touched_within,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity that is measured of each answer. `unit` is how a reader sees it: a share in [0, 1] as per cent, or a number of
    tokens. `better` says whether more or less is good; None for neither."""

    name: str
    label: str
    says: str
    unit: Literal["share", "tokens"] = "share"
    better: Literal["more", "less"] | None = "more"


WITHIN = (
    Metric(name="fraction", label="evidence", says="the share of a question's evidence that is shown"),
    Metric(name="every", label="all of it", says="questions of which all the evidence is shown, whole"),
    Metric(name="any", label="some of it", says="questions of which some evidence is shown"),
    Metric(
        name="touched", label="any part of a message", says="the share of the evidence messages that are shown in part at least"
    ),
    Metric(name="contained", label="answer contained", says="questions whose answer stands in the added text, word for word"),
    Metric(name="words", label="answer's words", says="the share of the answer's content words in the added text"),
    Metric(name="redundancy", label="redundancy", says="the share of shown items that nearly repeat another", better="less"),
    Metric(name="stale", label="stale", says="questions shown what was replaced, without what replaced it", better="less"),
    Metric(name="current", label="current value", says="questions about what was replaced, shown what replaced it"),
    Metric(name="unmarked", label="outdated, unmarked", says="those shown what was replaced, without a mark", better="less"),
    Metric(name="tokens", label="tokens used", says="tokens of all the added text", unit="tokens", better=None),
)
"""Metrics within a budget (tokens of all the added text)."""

AT = (
    Metric(name="fraction_at", label="evidence", says="the share of a question's evidence among the first k"),
    Metric(name="every_at", label="all of it", says="questions of which all the evidence is among the first k"),
    Metric(name="any_at", label="some of it", says="questions of which some evidence is among the first k"),
)
"""Metrics among the k highest ranks, whatever their length."""

REQUEST = (
    Metric(name="found", label="found", says="requests of which all that is needed stands in the prompt"),
    Metric(name="alone", label="outdated alone", says="requests shown outdated text without all that is needed", better="less"),
    Metric(name="needless", label="needless", says="requests that need nothing and got items all the same", better="less"),
    Metric(name="standing", label="standing", says="tokens beside the caller's own messages", unit="tokens", better=None),
    Metric(name="new", label="new", says="tokens that the turn added", unit="tokens", better=None),
)
"""Metrics of a person's requests, within a budget or without one."""

METRICS = (*WITHIN, *AT, *REQUEST)

_WITHIN: dict[str, Callable[[Shown], float]] = {
    "fraction": lambda shown: fraction_within(shown.shares),
    "every": lambda shown: every_within(shown.shares),
    "any": lambda shown: any_within(shown.shares),
    "touched": lambda shown: touched_within(shown.shares),
    "contained": lambda shown: _number(shown.contained),
    "words": lambda shown: _number(shown.words),
    "redundancy": lambda shown: _number(shown.redundancy),
    "stale": lambda shown: _number(shown.stale),
    "current": lambda shown: _number(shown.current),
    "unmarked": lambda shown: _number(shown.unmarked),
    "tokens": lambda shown: float(shown.tokens),
}
_AT: dict[str, Callable[[Sequence[int | None], int], float]] = {
    "fraction_at": fraction_at,
    "every_at": every_at,
    "any_at": any_at,
}


def metric(name: str) -> Metric:
    """The metric called `name`. Raises `KeyError` for an unknown name."""
    return {metric.name: metric for metric in METRICS}[name]


def metric_columns(budgets: Sequence[int], ks: Sequence[int]) -> list[tuple[str, int]]:
    """(name of a metric, budget or k) of each column that `metric_values` returns, in the same order."""
    within = [(metric.name, budget) for metric in WITHIN for budget in budgets]
    return within + [(metric.name, k) for metric in AT for k in ks]


def metric_values(answered: Sequence[Answered], budgets: Sequence[int], ks: Sequence[int]) -> NDArray[np.float64]:
    """The value of every metric for each answer, shape (answers, columns); NaN where a metric doesn't apply to a question."""
    rows = []
    for answer in answered:
        shown = {each.budget: each for each in answer.shown}
        row = [_WITHIN[metric.name](shown[budget]) for metric in WITHIN for budget in budgets]
        rows.append(row + [_AT[metric.name](answer.ranks, k) for metric in AT for k in ks])
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(metric_columns(budgets, ks)))


def _number(value: float | None) -> float:
    return nan if value is None else float(value)


# The mean of every metric with its interval, by clock, overall and for each category.


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The mean of a metric over `count` questions. `low` and `high` bound the middle 95 % of the resampled means, and are None
    where there are too few questions. `at` is the budget (tokens) or the k; `category` is empty for all questions."""

    clock: str
    category: str
    metric: str
    at: int
    mean: float
    low: float | None
    high: float | None
    count: int


def enough_conversations(answered: Sequence[Answered]) -> bool:
    """Whether there are enough conversations to resample whole conversations instead of questions."""
    return len({answer.conversation for answer in answered}) >= MIN_CONVERSATIONS


def figures(answered: Sequence[Answered], *, budgets: Sequence[int], ks: Sequence[int], seed: int = 0) -> tuple[Figure, ...]:
    """The mean of every metric at each budget and k. A metric without a value for any question is left out."""
    found: list[Figure] = []
    whole = enough_conversations(answered)
    for clock in dict.fromkeys(answer.clock for answer in answered):
        at_clock = [answer for answer in answered if answer.clock == clock]
        categories = sorted({answer.category for answer in at_clock if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [answer for answer in at_clock if category in ("", answer.category)]
            drawn = resampling_groups([answer.conversation for answer in chosen], whole=whole)
            means = intervals(metric_values(chosen, budgets, ks), drawn, seed)
            for (name, at), interval in zip(metric_columns(budgets, ks), means, strict=True):
                if interval.count:
                    found.append(
                        Figure(
                            clock=clock,
                            category=category,
                            metric=name,
                            at=at,
                            mean=interval.mean,
                            low=interval.low,
                            high=interval.high,
                            count=interval.count,
                        )
                    )
    return tuple(found)


# Confidence intervals of means, by the percentile bootstrap (Efron and Tibshirani 1993, chapter 13). Questions of one
# conversation are alike, so whole conversations are drawn (the cluster bootstrap) where there are at least ten. With
# fewer, that interval would be too narrow: questions are drawn instead, and the interval then says nothing about how
# much conversations differ.


MIN_CONVERSATIONS = 10
"""The number of conversations from which on whole conversations are drawn."""

LEVEL = 0.95

_DRAWS = 2000
_MIN_VALUES = 5
"""Fewer values get no interval: it would suggest a precision that isn't there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean of `count` values. `low` and `high` bound the middle 95 % of the resampled means; None for fewer than five
    values."""

    mean: float
    low: float | None
    high: float | None
    count: int


def resampling_groups(conversations: Sequence[str], *, whole: bool) -> NDArray[np.intp]:
    """The group of each question, shape (questions,): questions of one group are drawn together. With `whole` a conversation
    is a group, else each question is one."""
    if whole:
        return np.unique(np.asarray(conversations, dtype=str), return_inverse=True)[1].astype(np.intp).ravel()
    return np.arange(len(conversations), dtype=np.intp)


def intervals(values: NDArray[np.float64], drawn: NDArray[np.intp], seed: int = 0) -> list[Interval]:
    """The interval of each column of `values`, shape (questions, columns), where NaN is a missing value. `drawn` are the
    groups of the questions, shape (questions,). The same seed gives the same intervals."""
    known = ~np.isnan(values)
    size = int(drawn.max()) + 1 if len(drawn) else 0
    sums, counts = np.zeros((size, values.shape[1])), np.zeros((size, values.shape[1]))
    np.add.at(sums, drawn, np.where(known, values, 0.0))
    np.add.at(counts, drawn, known)
    total = counts.sum(axis=0)
    if not size:
        return [Interval(mean=nan, low=None, high=None, count=0) for _ in range(values.shape[1])]
    random = np.random.default_rng(seed)
    times = random.multinomial(size, np.full(size, 1 / size), size=_DRAWS).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums.sum(axis=0) / total
        draws = (times @ sums) / (times @ counts)
    return [_interval(means[column], draws[:, column], int(total[column])) for column in range(values.shape[1])]


def _interval(mean: float, draws: NDArray[np.float64], count: int) -> Interval:
    if count < _MIN_VALUES:
        return Interval(mean=float(mean), low=None, high=None, count=count)
    low, high = np.nanquantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(mean=float(mean), low=float(low), high=float(high), count=count)


# The tokens that the strategy adds by itself, without `max_tokens`, and the evidence in them (AMOUNT-1).


REQUESTS = 1000
"""Prices are for so many requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Means over `count` questions that were asked without `max_tokens`. `low` and `high` bound the middle 95 % of the
    resampled means, and are None where there are too few questions."""

    effort: str
    """A word or a number; empty for the strategy's own effort."""
    category: str
    """Empty for all questions."""
    count: int
    tokens: float
    """Tokens of all the added text, wrapper included."""
    tokens_low: float | None
    tokens_high: float | None
    fraction: float
    """The share of a question's evidence that is shown, [0, 1]."""
    low: float | None
    high: float | None
    every: float
    """The share of the questions of which all the evidence is shown, whole."""
    touched: float = 0.0
    """The share of a question's evidence messages of which any part is shown."""
    dollars: float | None = None
    """US dollars that the added tokens of a thousand requests cost where no cache helps; None where no price is known."""


def amounts(answered: Sequence[Answered], *, price: Price | None, whole: bool, seed: int = 0) -> tuple[Amount, ...]:
    """The amount for each effort: over all questions first, then for each category. `whole` draws whole conversations for the
    intervals, else questions."""
    asked = [(answer, unlimited) for answer in answered for unlimited in answer.unlimited]
    found = []
    for effort in dict.fromkeys(unlimited.effort for _, unlimited in asked):
        with_effort = [(answer, unlimited) for answer, unlimited in asked if unlimited.effort == effort]
        categories = sorted({answer.category for answer, _ in with_effort if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [pair for pair in with_effort if category in ("", pair[0].category)]
            found.append(_amount(effort, category, chosen, price, whole, seed))
    return tuple(found)


def _amount(
    effort: str, category: str, asked: list[tuple[Answered, Unlimited]], price: Price | None, whole: bool, seed: int
) -> Amount:
    rows = [(one.tokens, *(by(one.shares) for by in (fraction_within, every_within, touched_within))) for _, one in asked]
    drawn = resampling_groups([answer.conversation for answer, _ in asked], whole=whole)
    tokens, fraction, every, touched = intervals(np.array(rows, dtype=np.float64), drawn, seed)
    return Amount(
        effort=effort,
        category=category,
        count=tokens.count,
        tokens=tokens.mean,
        tokens_low=tokens.low,
        tokens_high=tokens.high,
        fraction=fraction.mean,
        low=fraction.low,
        high=fraction.high,
        every=every.mean,
        touched=touched.mean,
        dollars=None if price is None else REQUESTS * price.cost(sum(one.tokens for _, one in asked)) / len(asked),
    )


# What the input tokens of a thousand calls cost, with and without germane's text and the provider's prompt cache.


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars for the prompts of a thousand calls, by the mean of `calls` replayed calls. `own` are the prompts without
    germane's text, `whole` with it. `own_cached` and `whole_cached` are the same where the provider's cache holds everything
    that the previous call of the session began with, and the rest is written to the cache."""

    calls: int
    own: float
    own_cached: float
    whole: float
    whole_cached: float
    dated: str
    """The day of the price (ISO 8601); empty where unknown."""


def cost(calls: Sequence[ReplayedCall], price: Price | None) -> Cost | None:
    """The cost by these calls; None where there are none, or where no price is known. Each call follows another in its session:
    the first call of a session, which no cache helps, isn't among them."""
    if not calls or price is None:
        return None
    own, whole = sum(call.own for call in calls), sum(call.prompt for call in calls)
    own_common = sum(min(call.own_common, call.own) for call in calls)
    common = sum(min(call.common, call.prompt) for call in calls)
    each = REQUESTS / len(calls)
    return Cost(
        calls=len(calls),
        own=each * price.cost(own),
        own_cached=each * price.cost(own, own_common, own - own_common),
        whole=each * price.cost(whole),
        whole_cached=each * price.cost(whole, common, whole - common),
        dated=price.dated,
    )


# The share of each prompt that a provider's prompt cache can reuse from the previous one.


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """Token counts of one call that follows another in its session. `prompt` is the whole prompt and `common` its prefix shared
    with the previous one; `own` and `own_common` are the same without germane's text."""

    conversation: str
    prompt: int
    common: int
    own: int
    own_common: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """The reusable share of all prompt tokens of `calls` calls, [0, 1]: `share` with germane's text in the prompts, `own`
    without it."""

    calls: int
    share: float
    own: float


def prompt_texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The text of each message of a request in OpenAI's shape, in order."""
    return [f"{message.get('role')} {message.get('name') or ''}\n{message_text(message)}\n" for message in messages]


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message in OpenAI's shape."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", part)) if isinstance(part, Mapping) else str(part) for part in content or ())


def common_prefix(before: Sequence[str], after: Sequence[str]) -> str:
    """The longest common beginning of the two concatenated texts, in characters."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    rest = _beginning(before[same], after[same]) if same < min(len(before), len(after)) else ""
    return "".join(after[:same]) + rest


def prefix_reuse(calls: Sequence[ReplayedCall]) -> Reuse | None:
    """The reuse over all calls; None where there are none."""
    if not calls:
        return None
    share = sum(call.common for call in calls) / sum(call.prompt for call in calls)
    own = sum(call.own_common for call in calls) / sum(call.own for call in calls)
    return Reuse(calls=len(calls), share=share, own=own)


def _beginning(one: str, two: str) -> str:
    """The longest common beginning of two texts, by bisection: comparing slices is quicker than a loop over characters."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return one[:low]


# Quantiles of the time that assemblies took, and the shares of their degradation levels.


LEVELS = ("L0 every source", "L1 some missing", "L2 directive alone", "L3 messages alone")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """The time of one assembly: `seconds` as the caller waits, `stages` as the metadata of the context names them (seconds),
    `level` the degradation level (0 to 3)."""

    category: str
    seconds: float
    level: int
    stages: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Quantiles in milliseconds over `count` assemblies. `levels` are the shares of degradation levels L0 to L3, [0, 1].
    `stage` is empty for the whole assembly, `category` for all questions."""

    category: str
    stage: str
    count: int
    p50: float
    p95: float
    p99: float
    levels: tuple[float, ...] = ()


def quantile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank quantile: the smallest value that at least `percent` per cent of the values don't exceed."""
    ranked = sorted(values)
    return ranked[max(0, ceil(len(ranked) * percent / 100) - 1)]


def latencies(timed: Sequence[Timed]) -> tuple[Latency, ...]:
    """Latencies of all assemblies first, then by category, then by stage. Empty where nothing was timed."""
    if not timed:
        return ()
    categories = sorted({answer.category for answer in timed})
    stages = dict.fromkeys(name for answer in timed for name in answer.stages)
    found = [_answers("", timed)]
    if len(categories) > 1:
        found += [_answers(name, [answer for answer in timed if answer.category == name]) for name in categories]
    for name in stages:
        found.append(_latency("", name, [answer.stages[name] for answer in timed if name in answer.stages]))
    return tuple(found)


def _answers(category: str, timed: Sequence[Timed]) -> Latency:
    levels = tuple(sum(answer.level == level for answer in timed) / len(timed) for level in range(len(LEVELS)))
    return _latency(category, "", [answer.seconds for answer in timed], levels)


def _latency(category: str, stage: str, seconds: Sequence[float], levels: tuple[float, ...] = ()) -> Latency:
    p50, p95, p99 = (1000 * quantile(seconds, percent) for percent in (50, 95, 99))
    return Latency(category=category, stage=stage, count=len(seconds), p50=p50, p95=p95, p99=p99, levels=levels)
