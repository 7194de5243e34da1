"""The summary worker: a language model writes in the background, and what it writes comes in whole or not at all."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from germane.api.workers.on_demand import summary_worker
from germane.api.workers.summaries import SummaryWorker
from germane.compaction.llm_summary.covered_span import CoveredExchange, CoveredSpan
from germane.compaction.notes import SpanSummary
from germane.compaction.summary_text import prose_lines
from germane.errors import InvalidInput, LLMError, UnknownName
from germane.types.message import Message
from support.scripted_llm import ScriptedLLM
from support.summed_story import BEGINNING, HONEST, MESSAGES, NOTES, count

pytestmark = pytest.mark.requirement("HIST-3")

EXCHANGES = tuple(
    CoveredExchange(start=start, end=end, messages=tuple(MESSAGES[start:end]), notes=notes)
    for (start, end), notes in zip(((0, 6), (6, 10), (10, 12)), NOTES, strict=True)
)
FIRST = CoveredSpan(fingerprint="h1", exchanges=EXCHANGES[:1], covers=6, max_tokens=600, count=count)
SECOND = CoveredSpan(fingerprint="h2", exchanges=EXCHANGES[:2], covers=10, max_tokens=600, count=count, earlier=("h1",))
THIRD = CoveredSpan(fingerprint="h3", exchanges=EXCHANGES, covers=12, max_tokens=600, count=count, earlier=("h1", "h2"))


def summary(worker: SummaryWorker, span: CoveredSpan) -> SpanSummary | None:
    """What a compaction does: it takes what there is, and says what has left."""
    served = worker.summary(span)
    worker.want(span)
    return served


class Gate:
    """Answers when it is opened."""

    def __init__(self, text: str) -> None:
        self.asked, self.opened, self.left = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._text = text

    async def reached(self) -> None:
        await asyncio.wait_for(self.asked.wait(), 10)

    async def answer(self, _: str) -> str:
        self.asked.set()
        try:
            await self.opened.wait()
        finally:
            self.left.set()
        return self._text


async def test_the_text_comes_in_with_the_next_move() -> None:
    """Until then the extractive summary serves, and the answer for one boundary never changes."""
    async with SummaryWorker(ScriptedLLM(BEGINNING, HONEST)) as worker:
        assert summary(worker, FIRST) is None
        await worker.drain()
        assert summary(worker, FIRST) is None
        second = summary(worker, SECOND)
        assert second is not None
        assert second.text.splitlines() == [*prose_lines(BEGINNING), NOTES[1].line]
        assert (second.method, second.covers, second.tokens) == ("llm", 10, count(second.text))
        assert second.note == "extractive from message 6 on"
        await worker.drain()
        assert summary(worker, SECOND) == second
        assert worker.total.asked == 2


async def test_at_once_it_comes_in_as_soon_as_it_is_there() -> None:
    """For those to whom the text is worth more than the provider's cache."""
    async with SummaryWorker(ScriptedLLM(BEGINNING), at_once=True) as worker:
        assert summary(worker, FIRST) is None
        await worker.drain()
        now = summary(worker, FIRST)
        assert now is not None
        assert (now.text, now.covers, now.note) == ("\n".join(prose_lines(BEGINNING)), 6, "")


async def test_summaries_build_on_one_another() -> None:
    """Only what left since is sent, with the text so far."""
    llm = ScriptedLLM(BEGINNING, HONEST)
    async with SummaryWorker(llm) as worker:
        for span in (FIRST, THIRD):
            summary(worker, span)
            await worker.drain()
    first, second = (prompt.splitlines()[1:-1] for prompt in llm.prompts)
    assert (len(first), len(second)) == (6, 7)
    assert json.loads(second[0]) == {"summary so far": "\n".join(prose_lines(BEGINNING))}


async def test_what_the_conversation_began_with_is_the_first_summary_so_far() -> None:
    """A summary block that came back."""
    llm = ScriptedLLM()
    async with SummaryWorker(llm) as worker:
        summary(worker, replace(FIRST, begins="The user is called Chloé."))
        await worker.drain()
    assert "The user is called Chloé." in llm.prompts[0]


@pytest.mark.parametrize("answer", ["", "I'm sorry, but I can't.", LLMError("no"), RuntimeError("no")])
async def test_what_is_not_accepted_never_comes_in_and_is_not_asked_for_again(answer: str | Exception) -> None:
    """The reason is counted."""
    llm = ScriptedLLM(answer, always=BEGINNING)
    async with SummaryWorker(llm, at_once=True) as worker:
        for _ in range(3):
            assert summary(worker, FIRST) is None
            await worker.drain()
        assert (len(llm.prompts), worker.total.refused, worker.total.reasons.total()) == (1, 1, 1)


async def test_two_compactions_at_once_ask_once() -> None:
    """Of the same span, from several threads."""
    llm = ScriptedLLM(always=BEGINNING)
    async with SummaryWorker(llm, at_once=True) as worker:
        threads = [threading.Thread(target=worker.want, args=(FIRST,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        await asyncio.sleep(0)
        await worker.drain()
    assert len(llm.prompts) == 1


async def test_an_answer_for_messages_that_were_edited_meanwhile_is_thrown_away() -> None:
    """What they say now has another fingerprint, and is asked about by itself."""
    gate = Gate(BEGINNING)
    llm = ScriptedLLM(gate.answer, "")
    edited = replace(EXCHANGES[0], messages=(Message.of("user", "Never mind the export."), *EXCHANGES[0].messages[1:]))
    now = replace(FIRST, fingerprint="h9", exchanges=(edited,))
    async with SummaryWorker(llm, at_once=True) as worker:
        summary(worker, FIRST)
        await gate.reached()
        summary(worker, now)
        gate.opened.set()
        await worker.drain()
        assert summary(worker, now) is None
        assert summary(worker, replace(SECOND, fingerprint="h10", earlier=("h9",))) is None
    assert "Never mind the export." in llm.prompts[1]


async def test_one_question_at_a_time_for_a_conversation_and_the_newest_span_is_next() -> None:
    """What became old while it waited isn't asked about."""
    gate = Gate(BEGINNING)
    llm = ScriptedLLM(gate.answer, HONEST)
    async with SummaryWorker(llm, lanes=4) as worker:
        for span in (FIRST, SECOND, THIRD):
            assert summary(worker, span) is None
            await gate.reached()
        assert len(llm.prompts) == 1
        gate.opened.set()
        await worker.drain()
    assert len(llm.prompts) == 2
    assert len(llm.prompts[1].splitlines()) == 2 + 1 + 6


async def test_no_more_questions_at_once_than_lanes() -> None:
    """However many conversations there are."""
    gates = [Gate(BEGINNING) for _ in range(5)]
    llm = ScriptedLLM(*(gate.answer for gate in gates))
    async with SummaryWorker(llm, lanes=2) as worker:
        for number in range(5):
            summary(worker, replace(FIRST, fingerprint=f"f{number}"))
        for gate in gates[:2]:
            await gate.reached()
        assert len(llm.prompts) == 2
        for gate in gates:
            gate.opened.set()
        await worker.drain()
    assert len(llm.prompts) == 5


async def test_the_conversation_that_waits_longest_is_next() -> None:
    """However often the others, or it itself, are compacted meanwhile."""
    gate = Gate(BEGINNING)
    llm = ScriptedLLM(gate.answer, "")
    others = [
        replace(THIRD, fingerprint=f"{name}2", earlier=(f"{name}1",), begins=f"It is {name}.") for name in ("anna", "ben")
    ]
    async with SummaryWorker(llm, lanes=1) as worker:
        summary(worker, FIRST)
        await gate.reached()
        for span in (*others, *others, others[0]):
            summary(worker, span)
        gate.opened.set()
        await worker.drain()
    assert ["It is anna" in prompt for prompt in llm.prompts] == [False, True, False]


async def test_closing_in_the_middle_leaves_nothing_running() -> None:
    """What was under way is given up; afterwards the worker answers and asks nobody."""
    gate = Gate(BEGINNING)
    llm = ScriptedLLM(gate.answer)
    before = asyncio.all_tasks()
    worker = SummaryWorker(llm, at_once=True, closes_llm=True)
    async with worker:
        summary(worker, FIRST)
        summary(worker, SECOND)
        await gate.reached()
    assert gate.left.is_set()
    assert asyncio.all_tasks() == before
    assert llm.closed
    assert summary(worker, THIRD) is None
    assert len(llm.prompts) == 1


async def test_a_language_model_that_cancels_itself_blocks_nothing() -> None:
    """Its conversation goes on with the next span."""

    async def cancels(_: str) -> str:
        raise asyncio.CancelledError

    async with SummaryWorker(ScriptedLLM(cancels, HONEST), at_once=True) as worker:
        summary(worker, FIRST)
        await worker.drain()
        summary(worker, THIRD)
        await worker.drain()
        assert summary(worker, THIRD) is not None


async def test_before_it_is_entered_it_answers_and_asks_nobody() -> None:
    """What was asked meanwhile is written about afterwards."""
    llm = ScriptedLLM(BEGINNING)
    worker = SummaryWorker(llm, at_once=True)
    assert summary(worker, FIRST) is None
    assert llm.prompts == []
    async with worker:
        await worker.drain()
        assert summary(worker, FIRST) is not None


def test_without_an_event_loop_it_has_a_thread() -> None:
    """For programs that block."""
    llm = ScriptedLLM(BEGINNING)
    with SummaryWorker(llm, at_once=True) as worker:
        assert summary(worker, FIRST) is None
        worker.wait()
        assert summary(worker, FIRST) is not None


async def test_a_text_that_leaves_no_room_for_what_is_newer_does_not_serve() -> None:
    """The extractive summary of everything then says more."""
    async with SummaryWorker(ScriptedLLM(BEGINNING)) as worker:
        summary(worker, FIRST)
        await worker.drain()
        assert summary(worker, replace(SECOND, max_tokens=count(BEGINNING) + 2)) is None


async def answer(prompt: str) -> str:
    return BEGINNING


@pytest.mark.parametrize("llm", [answer, "openai:gpt-4o-mini", "anthropic:claude-3-5-haiku"])
async def test_a_worker_is_opened_for_a_name_or_a_function(llm: str | Callable[[str], Awaitable[str]]) -> None:
    """With the addresses and keys of the environment."""
    async with summary_worker(llm, access={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}) as worker:
        assert worker.total.asked == 0


@pytest.mark.parametrize(("llm", "error"), [("nobody:x", UnknownName), (3, InvalidInput), (print, InvalidInput)])
def test_what_is_no_language_model_is_refused(llm: object, error: type[Exception]) -> None:
    """As everywhere."""
    with pytest.raises(error):
        summary_worker(llm)  # type: ignore[arg-type]
