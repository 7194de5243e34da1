"""A stored session's compactions: followed from call to call, with what a language model wrote, whichever way they are made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane
from germane.api import session_compactions
from germane.api.workers.summaries import SummaryWorker
from germane.compaction.conversation import FollowedConversation
from germane.compaction.message_cost import Measure
from germane.compaction.placeholders import held_summary
from germane.compaction.strategy import Truncate
from germane.errors import StoreUnavailable
from germane.kinds.conversations.reads import HandlesKept, LatestSummaries, SummariesKept
from germane.types.message import Message
from germane_testing.provider import LocalProvider, local_provider
from germane_testing.time_warp import Ticking
from support.heated_rooms import rooms, summed_up, turns
from support.llm_store import Opening, opening_in, standing_clock
from support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.requirement("HIST-2", "HIST-3")

MODEL, TOKENS, S = "gpt-4o", 3_000, "s"
TOLD = "feared cold tenants"
"""What the language model says, and the outline doesn't."""
STEPS = range(8, 70, 2)

Shown = tuple[int, str]
"""How often the boundaries have moved, and the summary as it stands in the prompt."""
Way = Callable[[Agent, list[dict[str, Any]]], Awaitable[Shown]]


def asking(many: int) -> list[dict[str, Any]]:
    """The conversation up to the question about the last room."""
    return turns(many)[:-1]


def block_in(messages: Sequence[Any]) -> str:
    blocks = [message["content"] for message in messages if "messages=" in str(message["content"])]
    assert all(held_summary(Message.of("user", block)) for block in blocks)
    return "".join(blocks)


async def by_history(agent: Agent, messages: list[dict[str, Any]], session: str = S) -> Shown:
    made = await agent.conversations.compact(messages, session=session, model=MODEL, max_tokens=TOKENS)
    assert made.fits
    return made.trace.moves, block_in(made.messages)


async def by_assembly(agent: Agent, messages: list[dict[str, Any]]) -> Shown:
    context = await agent.assemble(messages, model=MODEL, session=S, history_tokens=TOKENS, deadline=None)
    assert context.metadata.history is not None
    return context.metadata.history.moves, block_in(context.messages)


async def by_builder(agent: Agent, messages: list[dict[str, Any]]) -> Shown:
    steps = agent.builder().with_model(MODEL).with_session(S).with_messages(messages)
    built = await steps.with_limits(history_tokens=TOKENS).with_deadline(None)
    assert built.metadata.history is not None
    return built.metadata.history.moves, block_in(built.messages)


@pytest.fixture
async def server() -> AsyncIterator[LocalProvider]:
    """Sums up the rooms that it is asked about."""
    async with local_provider(rule=lambda asked: summed_up(asked.text)) as server:
        yield server


@pytest.fixture
def time() -> Ticking:
    return standing_clock()


@pytest.fixture
def opening(tmp_path: Path, time: Ticking) -> Opening:
    return opening_in(tmp_path, time)


def worker_of(germane: Germane) -> SummaryWorker:
    worker = germane._open.summaries
    assert worker is not None
    return worker


def stands_in(folder: Path) -> bool:
    """Whether any file holds what the language model said."""
    return any(TOLD.encode() in path.read_bytes() for path in folder.iterdir())


def endpoint(server: LocalProvider) -> str:
    return f"{server.url}/v1#rooms"


@pytest.mark.parametrize("way", [by_history, by_assembly, by_builder])
async def test_every_way_takes_the_language_models_text_with_the_next_move(
    opening: Opening, server: LocalProvider, way: Way
) -> None:
    """Between two moves the summary stays byte for byte, whatever is finished meanwhile."""
    async with opening(endpoint(server)) as germane:
        agent, seen = germane.agent(user="ana"), dict[int, set[str]]()
        for many in STEPS:
            moves, block = await way(agent, asking(many))
            seen.setdefault(moves, set()).add(block)
            await worker_of(germane).drain()
        assert worker_of(germane).total.refused == 0
    assert len(seen) > 3
    assert {moves: len(blocks) for moves, blocks in seen.items()} == dict.fromkeys(seen, 1)
    assert [TOLD in block for moves in sorted(seen) for block in seen[moves]] == [False, False] + [True] * (len(seen) - 2)


@pytest.mark.parametrize("way", [by_history, by_assembly, by_builder])
@pytest.mark.requirement("HIST-5")
async def test_only_what_is_new_is_counted(opening: Opening, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    """However long the conversation is."""
    counted = list[int]()
    count = Measure.message

    def counting(measure: Measure, message: Message, raw: Any) -> Any:
        counted[-1] += 1
        return count(measure, message, raw)

    monkeypatch.setattr(Measure, "message", counting)
    async with opening(None) as germane:
        agent = germane.agent(user="ana")
        for many in (100, 101, 300, 301):
            counted.append(0)
            await way(agent, asking(many))
    assert counted[0] >= 200
    assert counted[1] == counted[3] <= 4


async def test_what_was_written_serves_after_a_restart(opening: Opening, server: LocalProvider) -> None:
    """Also where the boundary has moved meanwhile; what was asked about isn't asked about again."""
    async with opening(endpoint(server)) as germane:
        agent = germane.agent(user="ana")
        _, first = await by_history(agent, asking(30))
        await worker_of(germane).drain()
        asked = len(server.requests)
    assert TOLD not in first
    async with opening(endpoint(server)) as germane:
        agent = germane.agent(user="ana")
        _, same = await by_history(agent, asking(30))
        await worker_of(germane).drain()
        assert (same, len(server.requests), worker_of(germane).total.asked) == (first, asked, 0)
    async with opening(endpoint(server)) as germane:
        agent = germane.agent(user="ana")
        _, moved = await by_history(agent, asking(42))
        await worker_of(germane).drain()
        sent = server.bodies[asked]["messages"][-1]["content"]
    assert TOLD in moved
    assert len(server.requests) == asked + 1
    assert "room R0 set to? The" not in sent
    assert "room R25 set to? The" in sent


async def test_another_process_has_what_was_written(opening: Opening, server: LocalProvider) -> None:
    """From its first call in the session on."""
    async with opening(endpoint(server)) as one, opening(None) as without, opening(endpoint(server)) as other:
        await by_history(one.agent(user="ana"), asking(30))
        await worker_of(one).drain()
        _, block = await by_history(other.agent(user="ana"), asking(42))
        assert TOLD in block
        _, stored = await by_history(without.agent(user="ana"), asking(42))
        assert stored == block


async def test_what_was_written_is_exported_and_restored(opening: Opening, tmp_path: Path, time: Ticking) -> None:
    """With the session's other summaries; there it serves too."""
    async with opening(ScriptedLLM(rooms)) as germane:
        agent = germane.agent(user="ana")
        await by_history(agent, asking(30))
        await worker_of(germane).drain()
        lines = [line async for line in agent.export()]
        kept = await agent.conversations.summaries(S)
    (tmp_path / "other").mkdir()
    async with opening_in(tmp_path / "other", time)(ScriptedLLM()) as other:
        agent = other.agent(user="ana")
        await agent.restore(lines)
        assert await agent.conversations.summaries(S) == kept
        assert [one.summary.method for one in kept] == ["extractive", "llm"]
        assert TOLD in (await by_history(agent, asking(42)))[1]


async def test_nobody_else_gets_it(opening: Opening) -> None:
    """Another user, agent, org or session with the same messages: each has the language model asked for itself."""
    llm = ScriptedLLM(*[rooms] * 20)
    async with opening(llm) as germane:
        await by_history(germane.agent(user="ana"), asking(30))
        await worker_of(germane).drain()
        others = [
            germane.agent(user="ben"),
            germane.agent(),
            germane.agent("another", user="ana"),
            germane.agent(org="x", user="ana"),
        ]
        for number, agent in enumerate(others):
            assert TOLD not in (await by_history(agent, asking(42)))[1]
            await worker_of(germane).drain()
            assert len(llm.prompts) == 1 + 2 * (number + 1), "66 messages are two questions"
        assert TOLD not in (await by_history(germane.agent(user="ana"), asking(42), "another"))[1]
        assert TOLD in (await by_history(germane.agent(user="ana", zone="Asia/Tokyo"), asking(42)))[1]


async def test_what_is_forgotten_is_dropped_and_not_told_again(opening: Opening, tmp_path: Path) -> None:
    """Neither memory nor the file holds anything of it, and the same messages are asked about anew."""
    llm = ScriptedLLM(*[rooms] * 20)
    async with opening(llm) as germane:
        agent, ben = germane.agent(user="ana"), germane.agent(user="ben")
        for each in (agent, ben):
            await by_history(each, asking(30))
            await worker_of(germane).drain()
        assert len(germane._open.compactions._followed) == 2
        receipt = await agent.forget(session=S)
        kept = [key.owner[2] for key in germane._open.compactions._followed]
        assert kept == ["ben"]
        assert len(receipt.compaction_ids) >= 3
        assert TOLD not in (await by_history(agent, asking(42)))[1]
        await worker_of(germane).drain()
        before = len(llm.prompts)
        await by_history(agent, asking(30))
        await worker_of(germane).drain()
        assert len(llm.prompts) > before
        assert TOLD in (await by_history(ben, asking(42)))[1]
        await ben.forget(session=S)
        await agent.forget(everything=True)
    assert not stands_in(tmp_path)


async def test_what_another_process_forgets_is_dropped_here(opening: Opening) -> None:
    """At the next compaction in the session, which then has what was written since."""
    for again in (False, True):
        async with opening(ScriptedLLM(*[rooms] * 20)) as germane, opening(ScriptedLLM(*[rooms] * 20)) as other:
            agent, elsewhere = germane.agent(user="ana"), other.agent(user="ana")
            await by_history(agent, asking(30))
            await worker_of(germane).drain()
            await elsewhere.forget(session=S)
            if again:
                await by_history(elsewhere, asking(42))
                await worker_of(other).drain()
            assert (TOLD in (await by_history(agent, asking(55)))[1]) == again
            await elsewhere.forget(session=S)


async def test_a_store_that_can_t_be_written_has_nothing_asked_twice(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """What isn't there wasn't forgotten; the text serves as long as the process lives."""
    llm = ScriptedLLM(*[rooms] * 20)

    async def full(*_: Any) -> Any:
        raise StoreUnavailable("the disk is full")

    async with opening(llm) as germane:
        agent = germane.agent(user="ana")
        monkeypatch.setattr(type(germane._open.store.within(agent.scope)), "commit", full)
        for _ in range(3):
            await by_history(agent, asking(30))
            await worker_of(germane).drain()
        assert len(llm.prompts) == 1
        assert TOLD in (await by_history(agent, asking(42)))[1]


@pytest.mark.parametrize("process", ["own", "other"])
async def test_an_answer_about_what_was_forgotten_meanwhile_isn_t_kept(opening: Opening, tmp_path: Path, process: str) -> None:
    """By this process or by another one."""
    asked, opened = asyncio.Event(), asyncio.Event()

    async def late(prompt: str) -> str:
        asked.set()
        await opened.wait()
        return await rooms(prompt)

    async with opening(ScriptedLLM(late)) as germane, opening(None) as other:
        await by_history(germane.agent(user="ana"), asking(30))
        await asyncio.wait_for(asked.wait(), 10)
        forgetting = (germane if process == "own" else other).agent(user="ana")
        await forgetting.forget(session=S)
        opened.set()
        await worker_of(germane).drain()
        assert await forgetting.conversations.summaries(S) == ()
        assert worker_of(germane).total.accepted == (process == "other")
    assert not stands_in(tmp_path)


async def test_messages_that_were_edited_get_nothing_of_before(opening: Opening) -> None:
    """Their first span has another handle."""
    async with opening(ScriptedLLM(*[rooms] * 20)) as germane:
        agent = germane.agent(user="ana")
        await by_history(agent, asking(30))
        await worker_of(germane).drain()
        edited = [{"role": "user", "content": "Please never call the janitor."}, *asking(42)[1:]]
        _, block = await by_history(agent, edited)
        assert TOLD not in block
        assert "never call the janitor" in block
        assert TOLD in (await by_history(agent, asking(42)))[1]


async def test_what_isn_t_summed_up_or_kept_is_asked_about_by_nobody(opening: Opening) -> None:
    """Without a summary, without a session, and where the caller keeps nothing."""
    llm = ScriptedLLM(*[rooms] * 20)
    async with opening(llm) as germane:
        agent = germane.agent(user="ana")
        await agent.conversations.compact(asking(40), session=S, model=MODEL, max_tokens=TOKENS, strategy=Truncate())
        await agent.assemble(asking(40), model=MODEL, history_tokens=TOKENS, deadline=None)
        steps = agent.builder().with_model(MODEL).with_session(S).with_messages(asking(40)).with_history(keep=False)
        await steps.with_limits(history_tokens=TOKENS).with_deadline(None)
        await worker_of(germane).drain()
    assert llm.prompts == []


@pytest.mark.parametrize(("does", "why"), [("hangs", "didn't answer"), ("fails", "can't be used: RuntimeError")])
async def test_a_store_that_does_not_answer_costs_the_handles_and_not_the_compaction(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, does: str, why: str
) -> None:
    """Reading what was written has a part of the store's time."""

    async def broken(store: Any, read: Any) -> Any:
        if not isinstance(read, LatestSummaries | SummariesKept | HandlesKept):
            return await answered(store, read)
        if does == "fails":
            raise RuntimeError
        return await asyncio.Event().wait()

    async with opening(ScriptedLLM()) as germane:
        agent = germane.agent(user="ana")
        scoped = type(germane._open.store.within(agent.scope))
        answered = scoped.ask
        monkeypatch.setattr(scoped, "ask", broken)
        context = await agent.assemble(asking(40), model=MODEL, session=S, history_tokens=TOKENS, deadline=2.0)
        report = context.metadata.history
    assert report is not None
    assert report.summarised
    assert report.cited == ()
    assert any(why in reason for reason in report.reasons)


async def test_calls_that_can_t_wait_hold_no_thread(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many come while a long conversation is read; the next one finds the work done."""
    entered, going, plan = list[int](), threading.Event(), FollowedConversation.plan

    def slow(*given: Any) -> Any:
        entered.append(1)
        assert going.wait(30)
        return plan(*given)

    async with opening(None) as germane:
        agent = germane.agent(user="ana")
        with monkeypatch.context() as patched:
            patched.setattr(FollowedConversation, "plan", slow)
            try:
                for _ in range(4):
                    context = await agent.assemble(asking(40), model=MODEL, session=S, history_tokens=TOKENS, deadline=0.1)
                    report = context.metadata.history
                    assert report is not None
                    assert report.reasons == ("it couldn't be compacted in time",)
                assert len(entered) == 1
            finally:
                going.set()
        assert (await by_assembly(agent, asking(40)))[0] == 2


@pytest.mark.requirement("ENGINE-2")
async def test_a_failure_in_the_middle_leaves_nothing_behind(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call starts again, with each message once."""
    left, count = [100], Measure.message

    def failing(measure: Measure, message: Message, raw: Any) -> Any:
        left[0] -= 1
        if not left[0]:
            raise MemoryError
        return count(measure, message, raw)

    async with opening(None) as germane:
        agent = germane.agent(user="ana")
        await by_history(agent, asking(40))
        monkeypatch.setattr(Measure, "message", failing)
        left[0] = 10
        with pytest.raises(MemoryError):
            await by_history(agent, asking(60))
        again = await agent.conversations.compact(asking(60), session=S, model=MODEL, max_tokens=TOKENS)
        anew = await agent.conversations.compact(asking(60), session="new", model=MODEL, max_tokens=TOKENS)
    assert (again.tokens_before, again.messages) == (anew.tokens_before, anew.messages)


async def test_the_day_s_tokens_are_those_of_summaries_too(opening: Opening, time: Ticking) -> None:
    """What extraction has used up isn't asked for, nor the other way round; it is asked for the next day."""
    llm = ScriptedLLM(rooms, always='{"memories": []}')
    async with opening(llm, llm_tokens_per_day=120) as germane:
        agent, worker = germane.agent("a", user="ana"), worker_of(germane)
        await by_history(agent, asking(30))
        await worker.drain()
        assert (len(llm.prompts), worker.total.accepted, worker.total.stopped) == (1, 1, "")
        await agent.record(turns(1), session="t")
        assert (await agent.extract()).stopped == "the day's 120 tokens (llm_tokens_per_day) are used up"
        await by_history(agent, asking(42))
        await worker.drain()
        assert worker.total.stopped.startswith("the day's 120 tokens")
        assert len(llm.prompts) == 1
        used = {one.agent: (one.calls, one.input_tokens, one.output_tokens) for one in germane.state.llm_usage}
        assert used == {"a": (1, 100, 20)}
        assert (germane.state.llm_calls, germane.state.llm_input_tokens, germane.state.llm_output_tokens) == (1, 100, 20)
        time.advance(timedelta(days=1))
        await by_history(agent, asking(42))
        await worker.drain()
        assert (len(llm.prompts), worker.total.stopped) == (2, "")


async def test_a_long_conversation_isn_t_kept_in_memory(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its characters, and by the number of its messages; another one that was kept goes first."""
    async with opening(None) as germane:
        agent, kept = germane.agent(user="ana"), germane._open.compactions._followed
        await by_history(agent, asking(30), "one")
        assert [key.owner[3] for key in kept] == ["one"]
        for limit, most in (("_MAX_CHARACTERS", 24_000), ("_MAX_MESSAGES", 100)):
            with monkeypatch.context() as patched:
                patched.setattr(session_compactions, limit, most)
                await by_history(agent, asking(30), "two")
                assert [key.owner[3] for key in kept] == ["two"], limit
                await by_history(agent, asking(100), "three")
                assert "three" not in [key.owner[3] for key in kept], limit
                await by_history(agent, asking(30), "one")
