"""Compare: pairs two reports over the same questions."""

from __future__ import annotations

from collections.abc import Mapping

from germane.errors import InvalidInput
from germane.evaluate.answered import Answered
from germane.evaluate.comparison import Changed, Comparison, Difference, paired
from germane.evaluate.everyday.request_compare import compare_requests
from germane.evaluate.figures import enough_conversations
from germane.evaluate.interval import resampling_groups
from germane.evaluate.metric import metric_columns, metric_values
from germane.evaluate.missed import nearest_budget
from germane.evaluate.report import Report

__all__ = ["compare"]

_Pair = tuple[Answered, Answered]


def compare(a: Report, b: Report, *, seed: int = 0) -> Comparison:
    """Compares b with a over the questions, clocks, budgets and k that both reports have. Raises `InvalidInput` where the
    reports have no question, no clock or no budget in common."""
    if a.asked_requests and b.asked_requests:
        return compare_requests(a, b, seed)
    budgets = [budget for budget in a.run.budgets if budget in b.run.budgets]
    ks = [k for k in a.run.ks if k in b.run.ks]
    clocks = [clock for clock in a.run.clocks if clock in b.run.clocks]
    if not (budgets and clocks):
        raise InvalidInput(
            "the two reports have no budget or no clock in common: measure both with the same --tokens and --clock"
        )
    found: list[Difference] = []
    pairs: list[_Pair] = []
    for clock in clocks:
        of_a, of_b = _answers(a, clock), _answers(b, clock)
        both = [(of_a[key], of_b[key]) for key in of_a if key in of_b]
        if not both:
            raise InvalidInput("the two reports have no question in common: measure both on the same data")
        pairs = pairs or both
        whole = enough_conversations([answer for answer, _ in both])
        categories = sorted({answer.category for answer, _ in both if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [pair for pair in both if category in ("", pair[0].category)]
            found += _differences(chosen, clock, category, budgets, ks, whole=whole, seed=seed)
    first, second = _answers(a, clocks[0]), _answers(b, clocks[0])
    budget = nearest_budget(budgets)
    return Comparison(
        a=a,
        b=b,
        differences=tuple(found),
        changed=_changed(pairs, budget),
        budget=budget,
        matched=len(pairs),
        unmatched=len(first.keys() ^ second.keys()),
        resampled="conversations" if enough_conversations([answer for answer, _ in pairs]) else "questions",
    )


def _differences(
    pairs: list[_Pair], clock: str, category: str, budgets: list[int], ks: list[int], *, whole: bool, seed: int
) -> list[Difference]:
    """The differences of every metric over these pairs."""
    of_a, of_b = (metric_values([pair[side] for pair in pairs], budgets, ks) for side in (0, 1))
    drawn = resampling_groups([pair[0].conversation for pair in pairs], whole=whole)
    return paired(of_a, of_b, metric_columns(budgets, ks), drawn, clock=clock, category=category, seed=seed)


def _changed(pairs: list[_Pair], budget: int) -> tuple[Changed, ...]:
    """The questions whose shown evidence differs within `budget`, the largest change first."""
    found = []
    for pair in pairs:
        a, b = (float(metric_values([answer], [budget], [])[0, 0]) for answer in pair)
        if abs(b - a) > 1e-9:
            asked = pair[0]
            found.append(
                Changed(
                    conversation=asked.conversation,
                    id=asked.id,
                    question=asked.question,
                    category=asked.category,
                    a=a,
                    b=b,
                )
            )
    return tuple(sorted(found, key=lambda change: -abs(change.b - change.a)))


def _answers(report: Report, clock: str) -> Mapping[tuple[str, str], Answered]:
    """The answers at one clock, by conversation and id of the question."""
    return {(answer.conversation, answer.id): answer for answer in report.answered if answer.clock == clock}
