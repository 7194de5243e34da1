"""When time runs short after gathering, what was found is packed the quick way; the directive alone only where nothing is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.clock import Clock
from germane.engine import engine as engine_module
from germane.engine import selection
from germane.stores.contract import ScopedStore
from germane.types.candidate import Candidate
from germane.types.context import Context
from germane_testing.builders import MOMENT, candidate
from germane_testing.faults import Hang, Slow, faulty
from germane_testing.time_warp import warped
from support.scoped_stores import DIRECTIVE, MEMORY, MESSAGE, engine, request, scoped

BOTH = {MEMORY.id, MESSAGE.id}
HOMES = {
    "distinct": engine_module,
    "score": selection,
    "split_at_floor": selection,
    "pack": selection,
    "pack_by_bounds": selection,
}
"""The module that calls each."""


class Late:
    """Stages that take longer than they do, on a clock of their own."""

    def __init__(self, patch: pytest.MonkeyPatch, stages: dict[str, float]) -> None:
        self.spent = 0.0
        for name, seconds in stages.items():
            patch.setattr(HOMES[name], name, self._taking(seconds, getattr(HOMES[name], name)))

    def _taking(self, seconds: float, stage: Any) -> Any:
        def slow(*args: Any, **options: Any) -> Any:
            self.spent += seconds
            return stage(*args, **options)

        return slow

    def clock(self) -> Clock:
        return Clock(now=lambda: MOMENT, steady=lambda: asyncio.get_running_loop().time() + self.spent)


async def answered(stages: dict[str, float], stored: ScopedStore | None = None, **options: Any) -> tuple[Context, set[str]]:
    """The context, and which of scoring and packing the usual way were called."""
    called = set[str]()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("score", "pack"):
            patch.setattr(HOMES[name], name, _noting(name, called, getattr(HOMES[name], name)))
        late = Late(patch, stages)
        germane = engine(clock=late.clock(), **options)
        return await germane.assemble(request(), stored or scoped(), DEFAULT), called


def _noting(name: str, called: set[str], stage: Any) -> Any:
    def noting(*args: Any, **options: Any) -> Any:
        called.add(name)
        return stage(*args, **options)

    return noting


def rung(context: Context) -> tuple[int, str, set[str]]:
    return context.metadata.degradation_level, context.metadata.fallback_reason, {item.id for item in context.items}


@pytest.mark.requirement("ENGINE-12")
@pytest.mark.parametrize(
    ("stages", "usual", "outcome"),
    [
        ({}, {"score", "pack"}, (0, "")),
        ({"distinct": 0.043}, {"score", "pack"}, (0, "")),
        ({"distinct": 0.0435}, set(), (1, "hurried")),
        ({"split_at_floor": 0.0435}, {"score", "pack"}, (0, "")),
        ({"split_at_floor": 0.0445}, {"score"}, (1, "hurried")),
        ({"distinct": 0.044, "pack_by_bounds": 0.001}, set(), (1, "hurried")),
    ],
)
@warped
async def test_what_is_left_of_the_time_decides_how_items_are_ranked_and_packed(
    stages: dict[str, float], usual: set[str], outcome: tuple[int, str]
) -> None:
    """With less than three fifths of 8 ms no scores, with less than half of them no weighing. The items are there."""
    context, called = await answered(stages)
    assert called == usual
    assert rung(context) == (*outcome, BOTH)
    assert DIRECTIVE in context.added
    assert MEMORY.text in context.added
    assert context.metadata.total_tokens_injected >= engine().tokenizer("o200k").count(context.added) * (not outcome[0])


@pytest.mark.requirement("ENGINE-12")
@warped
async def test_what_was_found_before_gathering_ended_is_packed_also_where_a_source_hangs() -> None:
    """And the loop was late by 4 ms."""
    context, _ = await answered({"distinct": 0.004}, faulty(scoped(), Hang(), "events.search"))
    assert rung(context) == (1, "hurried", {MEMORY.id})


@pytest.mark.requirement("ENGINE-12", "PACK-8")
@pytest.mark.parametrize("fault", [Hang(), Slow(0.004)])
@warped
async def test_where_the_gate_cannot_answer_in_the_time_left_nothing_that_needs_it_goes_in(fault: Any) -> None:
    """What a registered source offered doesn't need it."""
    stored = faulty(scoped(), fault, "ask.AllowedIds")
    context, _ = await answered({"distinct": 0.044}, stored)
    assert rung(context) == (2, "assembly_timeout", set())
    context, _ = await answered({"distinct": 0.044}, stored, sources={"memories": lambda _: Own()})
    assert rung(context) == (1, "hurried", {"own"})
    assert DIRECTIVE in context.added


class Own:
    async def gather(self, *_: object) -> Sequence[Candidate]:
        return [candidate("The vase costs 40 euros", id="own", source="memories", content_hash=0)]


@pytest.mark.requirement("ENGINE-12")
@pytest.mark.parametrize("stage", ["distinct", "split_at_floor", "pack"])
@warped
async def test_an_answer_that_is_overdue_is_the_directive(stage: str) -> None:
    context, _ = await answered({stage: 0.050})
    assert rung(context) == (2, "assembly_timeout", set())
    assert DIRECTIVE in context.added


@pytest.mark.requirement("ENGINE-12")
@warped
async def test_where_nothing_was_found_in_time_the_directive_goes_alone() -> None:
    stored = scoped()
    points = (
        "memories.search",
        "ask.PinnedMemories",
        "ask.ListMemories",
        "events.search",
        "ask.RecentEvents",
        "ask.TellingClauses",
    )
    for point in (*points, "ask.StandingBlocks", "blocks.search"):
        stored = faulty(stored, Hang(), point)
    context, _ = await answered({"distinct": 0.004}, stored)
    assert rung(context)[:2] == (2, "assembly_timeout")
    assert DIRECTIVE in context.added
