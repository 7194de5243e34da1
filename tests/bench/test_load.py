"""Load: what counts as kept up, and how the rate of saturation is searched for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from bench.load import Seen, climb
from bench.serving import Servers

from germane import Germane, Message


def _seen(took: float, level: int = 0, requests: int = 200) -> Seen:
    seen = Seen(seconds=10.0)
    for _ in range(requests):
        seen.add(took, 0.1, level, () if level == 0 else ("messages timeout",))
    return seen


def test_goodput_counts_what_is_answered_in_full_and_in_time() -> None:
    """Two of four a second, here."""
    seen = Seen(seconds=1.0)
    for took, level in ((10.0, 0), (48.0, 0), (48.1, 0), (10.0, 1)):
        seen.add(took, 2.5, level)
    for took in (48.0, 48.1):
        seen.add(took, 2.5, 1, ["shallow"])
    figures = seen.figures()
    assert (figures["goodput_per_s"], figures["searched_per_s"]) == (2.0, 3.0)
    assert figures["levels_percent"] == {"L0": 50.0, "L1": 50.0}
    assert figures["driver_late_p99"] == 2.5


def test_late_answers_and_thin_answers_both_fail_a_rate() -> None:
    """A quick answer at L1 keeps nothing up."""
    assert _seen(40.0).keeps_up
    assert not _seen(49.0).keeps_up
    assert not _seen(5.0, level=1).keeps_up


async def test_one_failing_step_does_not_end_the_search_and_two_in_a_row_do() -> None:
    """What kept up last is the answer, however the ones before did."""
    tried: list[float] = []

    async def step(rate: float) -> Seen:
        tried.append(rate)
        return _seen(90.0 if len(tried) in (2, 5, 6) else 20.0)

    found = await climb(step)
    assert len(tried) == len(found["steps"]) == 6
    assert found["keeps_up_to_per_s"] == pytest.approx(5.0 * 1.3**3) == tried[3]


async def test_where_nothing_keeps_up_the_answer_is_nought() -> None:
    """Not the first rate, not an error."""

    async def step(rate: float) -> Seen:
        return _seen(500.0)

    assert (await climb(step))["keeps_up_to_per_s"] == 0.0


async def test_a_server_in_a_process_of_its_own_answers_and_a_dead_one_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question overdue is answered too, with less."""
    monkeypatch.chdir(Path(__file__).parents[2])
    path = tmp_path / "store.db"
    async with Germane.open(path) as germane:
        await germane.agent("bench").record([Message.of("user", "The key is under the blue pot.")], session="s")
    async with Servers.open(path, 1) as servers:
        assert (await servers.ask("Where is the key?", time.perf_counter() + 3600)).level in range(4)
        overdue = await servers.ask("Where was the key?", time.perf_counter() - 1.0)
        assert overdue.level > 0
        assert overdue.reasons
    with pytest.raises(RuntimeError, match="has ended"):
        await servers.ask("And now?", time.perf_counter())
    with pytest.raises(RuntimeError, match="before it was ready"):
        async with Servers.open(tmp_path / "nowhere" / "store.db", 1):
            pass
