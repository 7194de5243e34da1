"""A compaction with a source of summaries: nothing waits, prefixes stay, and an edited conversation gets no old summary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count as numbers
from typing import Any

import pytest

from germane.api.workers.summaries import SummaryWorker
from germane.compaction.llm_summary.covered_span import CoveredSpan
from germane.compaction.message_cost import Measure
from germane.compaction.strategy import Importance, Summarise, Truncate
from germane.integrations import Compaction, Compactor, compact
from germane.models.llms import FunctionLLM
from support.heated_rooms import rooms, turns

pytestmark = pytest.mark.requirement("HIST-3")

TOKENS = 3_000


def small(messages: Sequence[Any], worker: Any, **options: Any) -> Compaction:
    return compact(messages, model="gpt-4o", max_tokens=TOKENS, summaries=worker, **options)


async def test_the_language_models_text_comes_in_with_the_next_move() -> None:
    """Between two moves the prompt's beginning stays byte for byte, whatever is finished meanwhile."""
    worker = SummaryWorker(FunctionLLM(rooms))
    async with worker:
        seen = list[tuple[int, str, str]]()
        for many in range(4, 70, 2):
            made = small(turns(many), worker)
            assert made.fits
            if made.summary is not None:
                seen.append((made.trace.covered_before, made.summary.method, str(made.messages[0])))
            await worker.drain()
    moves = sorted({covered for covered, _, _ in seen})
    assert len(moves) > 2
    for covered in moves:
        assert len({(method, block) for each, method, block in seen if each == covered}) == 1
    assert [next(method for each, method, _ in seen if each == covered) for covered in moves][:1] == ["extractive"]
    assert {method for each, method, _ in seen if each > moves[0]} == {"llm"}
    assert worker.total.refused == 0


async def test_constraints_and_ledger_stand_beside_the_language_models_words() -> None:
    """Whatever it leaves out."""
    async with SummaryWorker(FunctionLLM(rooms), at_once=True) as worker:
        small(turns(40), worker)
        await worker.drain()
        made = small(turns(40), worker)
    assert made.summary is not None
    assert made.summary.method == "llm"
    assert "feared cold tenants" in made.summary.text
    assert "never call the caretaker" in made.summary.text
    assert "never call the caretaker" in json.dumps(made.messages)
    assert made.tokens <= TOKENS


async def test_an_edited_conversation_gets_nothing_that_was_written_before() -> None:
    """Its messages have other handles."""
    async with SummaryWorker(FunctionLLM(rooms), at_once=True) as worker:
        messages = turns(40)
        small(messages, worker)
        await worker.drain()
        assert summary_method(small(messages, worker)) == "llm"
        messages[2] = {"role": "user", "content": "What is the heating in room R0 set to? The tenant there feels hot."}
        assert summary_method(small(messages, worker)) == "extractive"


async def test_a_compactor_asks_once_for_each_move() -> None:
    """Also where it compacts after every message."""
    asked = numbers()
    calls: Iterator[int] = asked

    async def counted(prompt: str) -> str:
        next(calls)
        return await rooms(prompt)

    compactor, moves = Compactor(model="gpt-4o", max_tokens=TOKENS), set[int]()
    async with SummaryWorker(FunctionLLM(counted)) as worker:
        for message in turns(60):
            compactor.add(message)
            made = compactor.compact(summaries=worker)
            moves.add(made.trace.covered_before)
            await worker.drain()
    assert next(asked) == len(moves - {0})


def test_what_one_call_alone_presses_out_isn_t_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a dialect writes more than was estimated, each call presses the boundaries anew: only their moves are asked
    about."""
    written, source = Measure.wire, _Recording()
    monkeypatch.setattr(Measure, "wire", lambda *given: written(*given) + 900)
    made = [small(turns(many)[:-1], source) for many in range(26, 60)]
    assert all(one.fits for one in made)
    assert len({one.trace.covered_before for one in made}) > len(set(source.wanted)) + 4
    assert len(set(source.wanted)) <= max(one.trace.moves for one in made)


def test_no_language_model_is_asked_where_only_demands_stay() -> None:
    """`Truncate` says nothing else of what has left."""
    source = _Recording()
    made = small(turns(60)[:-1], source, strategy=Truncate())
    assert made.dropped + made.summarised > 0
    assert (source.asked, source.wanted) == (0, [])


class _Recording:
    """Has nothing, and keeps what it is asked."""

    def __init__(self) -> None:
        self.asked, self.wanted = 0, list[str]()

    def summary(self, span: CoveredSpan) -> None:
        self.asked += 1

    def want(self, span: CoveredSpan) -> None:
        self.wanted.append(span.fingerprint)


@pytest.mark.parametrize("strategy", [Summarise(summary_tokens=900), Importance(keep_recent=4, keep_important=3)])
async def test_every_strategy_with_a_summary_takes_it(strategy: Any) -> None:
    """Also where exchanges before the boundary stay."""
    async with SummaryWorker(FunctionLLM(rooms), at_once=True) as worker:
        small(turns(40), worker, strategy=strategy)
        await worker.drain()
        made = small(turns(40), worker, strategy=strategy)
    assert summary_method(made) == "llm"
    assert made.fits


async def test_a_conversation_that_comes_back_compacted_goes_on() -> None:
    """What germane's own block said is the language model's first summary so far."""
    prompts = list[str]()

    async def kept(prompt: str) -> str:
        prompts.append(prompt)
        return await rooms(prompt)

    first = small(turns(40), ())
    assert first.summary is not None
    async with SummaryWorker(FunctionLLM(kept), at_once=True) as worker:
        messages = [*first.messages, *turns(40)[2:]]
        small(messages, worker)
        await worker.drain()
        assert "never call the caretaker" in prompts[0]
        assert "never call the caretaker" in json.dumps(small(messages, worker).messages)


def summary_method(made: Compaction) -> str:
    return "" if made.summary is None else made.summary.method
