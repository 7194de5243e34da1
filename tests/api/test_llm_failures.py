"""Failures of the language model that extracts memories: what is tried again, what is parked, what waits (MEM-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from germane import Germane, InvalidInput, LLMError
from germane.api.workers.extraction import ExtractionWorker
from germane.extraction.llm.answer import Accepted, accept_answer
from germane.extraction.llm.prompt import KnownStatement
from germane.extraction.llm.queue import BeginQueue, Claim, QueueState
from germane.ports.models import Completion
from germane.types.plan import store_change
from germane_testing.time_warp import Ticking
from support.llm_store import Opening, opening_in, standing_clock
from support.scripted_llm import ScriptedLLM, entry, listed

pytestmark = pytest.mark.requirement("MEM-7")

TEA = "I really love green tea in the morning."
TALK = [{"role": "user", "content": TEA}, {"role": "assistant", "content": "Noted: green tea."}]
LOVES = entry("The user loves green tea in the morning.")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def time() -> Ticking:
    return standing_clock()


@pytest.fixture
def opening(tmp_path: Path, time: Ticking) -> Opening:
    return opening_in(tmp_path, time)


def _worker(germane: Germane) -> ExtractionWorker:
    worker = germane._open.extraction_worker
    assert worker is not None
    return worker


async def _texts(germane: Germane, user: str | None = "ana") -> list[str]:
    return [memory.text for memory in (await germane.agent(user=user).memories.list(limit=50)).memories]


async def test_a_failure_is_tried_again_later_and_parked_in_the_end(opening: Opening, time: Ticking) -> None:
    """Five failures park the messages, with a reason and nothing of the content; what follows goes on; nothing is lost."""
    llm = ScriptedLLM(*["I can't help with green tea."] * 5)
    async with opening(llm) as germane:
        agent, worker = germane.agent(user="ana"), _worker(germane)
        await agent.record(TALK, session="s")
        minutes = list[int]()
        for minute in range(1, 500):
            time.advance(MINUTE)
            asked = len(llm.prompts)
            await worker.drain()
            minutes += [minute] if len(llm.prompts) > asked else []
        between = [later - earlier for earlier, later in pairwise(minutes)]
        assert len(minutes) == 5
        assert all(low <= wait <= 2 + 1.25 * low / 0.75 for low, wait in zip((0.75, 3, 12, 48), between, strict=True))
        assert (germane.state.extraction_parked, germane.state.extraction_waiting) == (1, 0)
        findings = {name: (said, fine) for name, said, fine in (await germane.check()).findings}
        assert findings["extraction parked"] == ("1 runs: 1 × the answer isn't JSON (germane extract tries again)", False)
        await agent.record([*TALK, {"role": "user", "content": "I am a carpenter."}], session="s")
        llm.script = [listed(entry("carpenter", kind="fact", key="user.work"))]
        await worker.drain()
        time.advance(MINUTE)
        await worker.drain()
        assert await _texts(germane) == ["user.work: carpenter"]
        llm.script = [listed(LOVES)]
        assert (await agent.extract()).memories == 1
        assert (await germane._open.store.ask(QueueState(0))).parked == 0


async def test_an_answer_that_breaks_its_reader_keeps_nobody_waiting(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts as a failure of its own messages; those of others are read."""

    def broken(text: str, claim: Claim, *, model: str, known: Sequence[KnownStatement]) -> Accepted:
        if claim.scope.user == "ben":
            raise OverflowError("a number of 400 digits")
        return accept_answer(text, claim, model=model, known=known)

    monkeypatch.setattr("germane.api.workers.extraction.accept_answer", broken)
    async with opening(ScriptedLLM(always=listed(LOVES))) as germane:
        for user in ("ben", "ana"):
            await germane.agent(user=user).record(TALK, session="s")
        run = await germane.agent(user="ben").extract()
        assert (run.failed, run.memories, run.stopped) == (1, 0, "")
        assert (await germane.agent(user="ana").extract()).memories == 1


@pytest.mark.parametrize("answer", [None, "a text", {"text": "x"}])
async def test_a_model_that_returns_no_completion_has_failed(opening: Opening, answer: Any) -> None:
    """An object of one's own may be wrong in any way."""
    llm = ScriptedLLM()
    llm.complete = AsyncMock(return_value=answer)  # type: ignore[method-assign]
    async with opening(llm) as germane:
        await germane.agent(user="ana").record(TALK, session="s")
        run = await germane.agent(user="ana").extract()
    assert (run.failed, run.messages, run.calls) == (1, 0, 1)


@pytest.mark.parametrize(
    "wrong", [{"text": None}, {"model": 7}, {"input_tokens": -1}, {"output_tokens": 10**30}, {"input_tokens": 1.5}]
)
def test_a_completion_that_can_not_be_is_refused(wrong: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"text": "x", "input_tokens": 1, "output_tokens": 1, "model": "m"}
    with pytest.raises(InvalidInput, match="completion\\."):
        Completion(**usual | wrong)


async def test_an_endpoint_that_fails_parks_nothing(opening: Opening, time: Ticking) -> None:
    """A wrong key or no connection concerns every session: the worker waits, however often it fails."""
    llm = ScriptedLLM(always=LLMError("the LLM at host answered 401: check the API key", of_endpoint=True))
    async with opening(llm) as germane:
        agent, worker = germane.agent(user="ana"), _worker(germane)
        await agent.record(TALK, session="s")
        for _ in range(20):
            time.advance(MINUTE)
            await worker.drain()
        assert (germane.state.llm_fault, germane.state.extraction_parked) == (
            "the LLM at host answered 401: check the API key",
            0,
        )
        assert ("extraction waits", germane.state.llm_fault, False) in (await germane.check()).findings
        llm.always = listed()
        await worker.drain()
        assert (germane.state.llm_fault, germane.state.extraction_waiting) == ("", 0)


async def test_pauses_grow_while_the_endpoint_fails(opening: Opening, time: Ticking) -> None:
    """The worker looks every five seconds, and at most every ten minutes while it gets no answer; then as before."""
    llm = ScriptedLLM(*[LLMError("away", of_endpoint=True)] * 10)
    pauses, over = list[float](), asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        time.advance(timedelta(seconds=seconds))
        if len(pauses) == 40:
            over.set()
            await asyncio.Event().wait()

    async with opening(None) as germane:
        worker = ExtractionWorker(germane._open.store, llm, time.clock, sleep=sleep)
        await germane._open.store.commit(store_change(BeginQueue()))
        await germane.agent(user="ana").record(TALK, session="s")
        await worker.start()
        await over.wait()
        await worker.close()
        await worker.close()
    assert [pause for pause in pauses if pause > 5] == [10, 20, 40, 80, 160, 320, 600, 600, 600, 600]
    assert (pauses[0], pauses[-1], len(llm.prompts)) == (5, 5, 11)
