"""Everyday evaluation: a person's requests asked end to end, each in a conversation of its own or several in one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane import Clock, InvalidInput
from germane.api.agent import Agent
from germane_eval import Dataset, Report, evaluate, load
from germane_testing.builders import Hashed
from support.small_sets import everyday, written
from support.small_talk import dataset

pytestmark = pytest.mark.requirement("EVAL-1")

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def nuno(tmp_path: Path) -> Dataset:
    return load(written(tmp_path / "nuno.json", everyday()))


async def measured(data: Dataset, **options: object) -> Report:
    given = {"embedder": Hashed(), "quick": True, "clock": Clock(now=lambda: NOW), "strategy": "compact"}
    return await evaluate(data, **given | options)  # type: ignore[arg-type]


async def test_what_is_easy_to_find_is_found_and_the_rest_is_told(nuno: Dataset) -> None:
    """`compact` pours the small store out: both facts are found, and what needs nothing gets something too."""
    report = await measured(nuno, budgets=(20, 400))
    whole, none = report.request(), report.request("none")
    assert whole is not None
    assert none is not None
    assert (whole.count, whole.found, whole.alone) == (2, 1.0, 0.0)
    assert (none.count, none.found, none.searched_items) == (1, None, 1.0)
    assert whole.standing > 0
    assert [report.request(budget=budget) is not None for budget in (20, 400, 500)] == [True, True, False]
    assert (report.figures, report.amounts, report.answered) == ((), (), ())
    assert [one.id for one in report.asked_requests if one.missed and not one.budget] == ["nuno/q3", "nuno/q4"]


async def test_nothing_configured_is_the_default_strategy_and_no_budget(nuno: Dataset) -> None:
    """With `quick`; each request opens a conversation of its own, by its own time."""
    report = await measured(nuno, strategy=None)
    run = report.run
    assert (run.strategy, run.budgets, run.talk, run.clocks) == ("default", (), 1, ("end+1h",))
    assert len(report.asked_requests) == 4
    assert all(one.new == one.standing for one in report.asked_requests)


async def test_requests_that_share_a_conversation_see_what_stands(nuno: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call has the turns before it, in one session a talk; a budget has sessions of its own."""
    asked: list[tuple[str, int, Any]] = []
    real = Agent.assemble

    async def noted(self: Agent, messages: Any, **options: Any) -> Any:
        if options.get("session"):
            asked.append((options["session"], len(messages), options["max_tokens"]))
        return await real(self, messages, **options)

    monkeypatch.setattr(Agent, "assemble", noted)
    report = await measured(nuno, talk=3, budgets=(300,))
    assert asked == [
        *[("asking 0 0", 1, None), ("asking 0 0", 3, None), ("asking 0 0", 5, None), ("asking 0 1", 1, None)],
        *[("asking 300 0", 1, 300), ("asking 300 0", 3, 300), ("asking 300 0", 5, 300), ("asking 300 1", 1, 300)],
    ]
    first, second, third, fourth = report.asked_requests[:4]
    assert second.standing == first.standing + second.new
    assert third.standing == second.standing + third.new
    assert fourth.standing == fourth.new


async def test_the_whole_run_also_measures_what_it_measures_elsewhere(nuno: Dataset) -> None:
    """Latency of all requests, prefix reuse, and turns without need; progress counts every step."""
    told: list[tuple[int, int]] = []
    report = await measured(nuno, quick=False, turns=3, budgets=(100,), progress=lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1]
    assert report.latency[0].count == 4
    assert len(report.asked_turns) == 3
    assert len(report.asked_requests) == 8


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"talk": 0}, "talk must be a whole number, 1 or more, not 0"),
        ({"talk": True}, "talk must be a whole number, 1 or more, not True"),
        ({"efforts": ("low",)}, "efforts aren't compared on everyday data"),
        ({"budgets": (0,)}, r"budgets\[0\] must be a whole number"),
    ],
)
async def test_what_does_not_go_with_everyday_data_is_refused(nuno: Dataset, options: dict[str, Any], said: str) -> None:
    """Before anything is recorded."""
    with pytest.raises(InvalidInput, match=said):
        await measured(nuno, **options)


async def test_other_data_have_no_talks() -> None:
    """Their questions are asked alone."""
    with pytest.raises(InvalidInput, match="talk is for everyday data: the questions of requests data are asked alone"):
        await measured(dataset(), talk=5)
