"""A few hundred generated conversations are compacted without a fault; the long run is `python -m bench compaction-fuzz`."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from bench.compaction_fuzz import FOUND, case, outcome, run

from germane.compaction.plan import Compaction
from germane.integrations.compactor import compact

pytestmark = pytest.mark.requirement("HIST-1", "HIST-4", "HIST-5")


def test_no_compaction_corrupts_a_conversation() -> None:
    """With 0 of 300 the true rate is below 1 % at 95 % confidence; `make soak ARGS=compaction-fuzz` runs more."""
    tally = run([f"suite-{number}" for number in range(300)], 200)
    assert tally.faults == {}, tally.seeds
    assert tally.compacted > 112
    assert tally.judged > 60


@pytest.mark.parametrize("seed", FOUND)
def test_what_was_mended_stays_mended(seed: str) -> None:
    """Cases that long runs have found."""
    assert outcome(case(seed, 5_000), again=True).faults == []


@pytest.mark.parametrize(
    ("kind", "seed"),
    [
        ("last-user-lost", "a"),
        ("above budget", "b"),
        ("invalid: no-messages", "c"),
        ("input changed", "d"),
        ("raised OSError", "e"),
    ],
)
def test_the_run_sees_a_compaction_that_corrupts(kind: str, seed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of fault is counted."""
    runs = count()

    def corrupt(messages: list[dict[str, Any]], **given: Any) -> Compaction:
        if kind == "raised OSError":
            raise OSError("full")
        found = compact(messages, **given)
        if kind == "input changed":
            messages[0]["more"] = 1
        elif kind == "above budget":
            return replace(found, fits=True, messages=found.messages + 99 * [{"role": "user", "content": "word " * 500}])
        elif kind == "unreadable":
            return replace(found, messages=[{"role": "nobody"}])
        elif kind == "nondeterministic":
            return replace(found, messages=[*found.messages, {"role": "user", "content": str(next(runs))}])
        else:
            return replace(found, messages=[])
        return found

    monkeypatch.setattr("bench.compaction_fuzz.compact", corrupt)
    each = next(each for number in range(99) if (each := case(f"{seed}{number}", 40)).conversation.provider == "openai")
    assert kind in {name for name, _ in outcome(each, again=True).faults}
