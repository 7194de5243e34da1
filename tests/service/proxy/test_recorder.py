"""Recorder: each turn is recorded once, in order, and what was forgotten meanwhile doesn't come back (PROXY-1)."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Germane
from germane.dialects.answer_copy import AnswerCopy
from germane.errors import StoreError, StoreUnavailable
from germane.service.proxy.recorder import KeptTurn, entry_of
from germane.service.proxy.spool import Spool
from support.calendar import Calendar
from support.proxied_turns import (
    ANSWERED,
    ProxiedTurns,
    answer_copy,
    assistant,
    chat_answer,
    failing,
    human,
    made_call,
    proxied,
    responses_answer,
    texts,
)

pytestmark = pytest.mark.requirement("PROXY-1")


async def test_a_turn_is_recorded_with_the_times_of_question_and_answer(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path
) -> None:
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        call = made_call("openai", [{"role": "system", "content": "be kind"}, human("What is the tide?")])
        turn = worker.turn(agent, "s", call, chat_answer("High at nine."))
        asked = calendar.moment
        calendar.advance(seconds=40)
        worker.recorder.offer(turn)
        assert await worker.recorder.flush(20)
        counts = worker.recorder.counts
    page = await agent.messages("s")
    assert [(one.role, one.text, one.created_at) for one in reversed(page.messages)] == [
        ("user", "What is the tide?", asked),
        ("assistant", "High at nine.", asked + ANSWERED),
    ]
    assert min(one.recorded_at for one in page.messages) == calendar.moment
    assert (counts.waiting, counts.recorded, sum(counts.dropped.values())) == (0, 1, 0)


async def test_a_whole_conversation_that_is_sent_each_time_is_stored_once(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path
) -> None:
    """Also where people repeat themselves."""
    history = list[dict[str, Any]]()
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        for said, answer in [("hi", "Hello!"), ("ok", "Shall I?"), ("ok", "Done."), ("ok", "Shall I?"), ("ok", "Done.")]:
            session = await worker.talk(agent, history, said, answer)
            calendar.advance(minutes=1)
    assert await texts(agent, session) == [message["content"] for message in history]
    assert len((await agent.sessions()).sessions) == 1


async def test_answers_that_come_back_without_their_blanks_are_no_conflict(
    germane: Germane, agent: Agent, calendar: Calendar
) -> None:
    """Clients trim them. The conversation goes on, and also a whole one that comes again is recorded."""
    async with proxied(germane, calendar.clock) as worker:
        session = await worker.ask(agent, [human("hi")], "Hello!\n\n")
        history = [human("hi"), assistant("Hello!"), human("more")]
        assert await worker.ask(agent, history, "Yes.") == session
        assert await texts(agent, session) == ["hi", "Hello!\n\n", "more", "Yes."]
        call = made_call("openai", [*history, assistant("Yes."), human("and?")])
        whole = entry_of(worker.turn(agent, session, call, chat_answer("No.")), worker.sessions, whole=True)
        assert whole is not None
        await agent.record(KeptTurn.of(whole).messages, session=session)
    assert (await texts(agent, session))[-2:] == ["and?", "No."]


async def test_tools_are_recorded_step_by_step(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Each request of an agent brings all steps before."""
    history = [human("Is it raining?")]
    async with proxied(germane, calendar.clock) as worker:
        for step in range(5):
            called = {"role": "assistant", "content": None, "tool_calls": [_tool(step, "look")]}
            session = await worker.ask(agent, history, called)
            history += [called, {"role": "tool", "tool_call_id": f"c{step}", "content": "not yet"}]
        assert await worker.ask(agent, history, "No.") == session
    assert await texts(agent, session) == ["Is it raining?", *['look({"a": 1})', "not yet"] * 5, "No."]


def _tool(number: int, name: str) -> dict[str, Any]:
    return {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": '{"a": 1}'}}


async def test_conversations_that_alternate_in_one_session_are_each_stored_once(
    germane: Germane, agent: Agent, calendar: Calendar
) -> None:
    """A coding agent and its helpers send the session of the first."""
    talks: dict[str, list[dict[str, Any]]] = {name: [] for name in ("main", "helper one", "helper two")}
    async with proxied(germane, calendar.clock) as worker:
        for step in range(6):
            for name, history in talks.items():
                await worker.talk(agent, history, f"{name} asks {step}", f"{name} is told {step}", named="shared")
                calendar.advance(minutes=1)
    stored = await texts(agent, "shared")
    assert sorted(stored) == sorted(message["content"] for history in talks.values() for message in history)
    for name, history in talks.items():
        assert [text for text in stored if text.startswith(name)] == [message["content"] for message in history]


async def test_what_the_provider_holds_is_stored_once(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Where only the new words come, the same words are new ones, and an entry that is recorded again is not."""
    async with proxied(germane, calendar.clock) as worker:
        previous: str | None = None
        for number in range(3):
            body = {"previous_response_id": previous} if previous else {}
            call = made_call("openai-responses", [human("ok")], body, held=previous is not None)
            session = await worker.find(agent, call)
            turn = worker.turn(agent, session, call, responses_answer(f"resp_{number}", "Good."))
            for _ in range(2):
                worker.recorder.offer(turn)
            assert await worker.recorder.flush(20)
            previous = f"resp_{number}"
            calendar.advance(minutes=1)
    assert len((await agent.sessions()).sessions) == 1
    assert await texts(agent, session) == ["ok", "Good."] * 3


async def test_what_came_of_a_stream_that_broke_is_recorded(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    deltas = ["The tide ", "comes ", "at n"]
    chunks = [{"choices": [{"index": 0, "delta": {"content": delta}}]} for delta in deltas]
    stream = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + 'data: {"choices": [{"in'
    async with proxied(germane, calendar.clock) as worker:
        call = made_call("openai", [human("When?")])
        worker.recorder.offer(worker.turn(agent, "s", call, answer_copy(stream, is_stream=True)))
        assert await worker.recorder.flush(20)
    assert await texts(agent, "s") == ["When?", "The tide comes at n"]


async def test_an_answer_that_can_not_be_read_leaves_the_question(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    class Unreadable(AnswerCopy):
        def read(self, api: str) -> Any:
            raise ValueError("not gzip")

    async with proxied(germane, calendar.clock) as worker:
        for number, answer in enumerate(
            [Unreadable({}), answer_copy("{"), answer_copy("[" * 100_000), answer_copy("\x00", is_stream=True)]
        ):
            worker.recorder.offer(worker.turn(agent, f"s{number}", made_call("openai", [human("When?")]), answer))
        assert await worker.recorder.flush(20)
    assert [await texts(agent, f"s{number}") for number in range(4)] == [["When?"]] * 4


# What fails.


async def test_a_store_that_fails_is_asked_again_and_order_is_kept(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = list[dict[str, Any]]()
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        with failing(monkeypatch, StoreUnavailable("the disk is full")) as tried:
            for number in range(3):
                history.append(human(f"question {number}"))
                call = made_call("openai", [*history])
                worker.recorder.offer(worker.turn(agent, "s", call, chat_answer(f"answer {number}")))
                history.append(assistant(f"answer {number}"))
            assert not await worker.recorder.flush(0.2)
            assert set(tried) == {"s"}
            assert worker.recorder.counts.waiting == 3
        assert await worker.recorder.flush(20)
    assert await texts(agent, "s") == [message["content"] for message in history]


@pytest.mark.parametrize("error", [StoreError("too big"), ZeroDivisionError()])
async def test_one_entry_that_fails_keeps_no_other(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It is given up after some tries, if others were recorded meanwhile."""
    record = Agent.record

    async def fails(self: Agent, messages: Any, *, session: str, **options: Any) -> Any:
        if session == "bad":
            raise error
        return await record(self, messages, session=session, **options)

    monkeypatch.setattr(Agent, "record", fails)
    monkeypatch.setattr("germane.service.proxy.recorder._FIRST_PAUSE", 0.0)
    monkeypatch.setattr("germane.service.proxy.recorder._MAX_PAUSE", 0.001)
    async with proxied(germane, calendar.clock) as worker:
        for session in ("bad", *(f"s{number}" for number in range(20))):
            worker.recorder.offer(worker.turn(agent, session, made_call("openai", [human("hi")]), chat_answer("Hello!")))
        assert await worker.recorder.flush(20)
        counts = worker.recorder.counts
    assert (counts.recorded, counts.dropped["failed"]) == (20, 1)


async def test_what_the_store_refuses_is_dropped_and_the_next_is_recorded(
    germane: Germane, agent: Agent, calendar: Calendar
) -> None:
    """Messages that nobody can read, and a session's name that isn't one."""
    bad = {"role": "nobody", "content": "x"}
    async with proxied(germane, calendar.clock) as worker:
        for session, message in [("s", bad), ("x" * 300, human("hi")), ("s", human("hi"))]:
            worker.recorder.offer(worker.turn(agent, session, made_call("openai", [message]), chat_answer("Hello!")))
        assert await worker.recorder.flush(20)
        counts = worker.recorder.counts
    assert (counts.recorded, counts.dropped["refused"]) == (1, 2)
    assert await texts(agent, "s") == ["hi", "Hello!"]


async def test_an_entry_of_more_than_a_day_ago_is_dropped(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        with failing(monkeypatch, StoreUnavailable("no")):
            worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [human("hi")]), chat_answer("Hello!")))
            assert not await worker.recorder.flush(0.05)
        calendar.advance(hours=25)
        assert await worker.recorder.flush(20)
        assert worker.recorder.counts.dropped["expired"] == 1
    assert await texts(agent) == []


async def test_a_full_queue_drops_the_newest_and_the_next_turn_brings_it(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request after it holds the whole conversation, of which then all is recorded."""
    history = list[dict[str, Any]]()
    async with proxied(germane, calendar.clock, spool=Spool(None, max_entries=1)) as worker:
        await worker.talk(agent, history, "one", "first", named="s")
        with failing(monkeypatch, StoreUnavailable("no")):
            other = made_call("openai", [human("elsewhere")])
            worker.recorder.offer(worker.turn(agent, "other", other, chat_answer("Hello!")))
            history.append(human("two"))
            worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [*history]), chat_answer("second")))
            history.append(assistant("second"))
            assert not await worker.recorder.flush(0.05)
            assert worker.recorder.counts.dropped["full"] == 1
        assert await worker.recorder.flush(20)
        await worker.talk(agent, history, "three", "third", named="s")
    assert await texts(agent, "s") == ["one", "first", "two", "second", "three", "third"]


async def test_offering_never_raises(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Before it was opened, after it was closed, and whatever it is given."""
    worker = ProxiedTurns(germane, calendar.clock, None)
    turn = worker.turn(agent, "s", made_call("openai", [human("hi")]), chat_answer("Hello!"))
    worker.recorder.offer(turn)
    worker.recorder.open()
    odd: Any = None
    worker.recorder.offer(odd)
    worker.recorder.offer(worker.turn(agent, "s", made_call("openai", odd), odd))
    await worker.recorder.close(5)
    await worker.recorder.close(5)
    worker.recorder.offer(turn)
    assert worker.recorder.counts.dropped["closed"] == 2
    assert await texts(agent) == []


async def test_what_waits_in_memory_when_the_service_ends_is_counted(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = ProxiedTurns(germane, calendar.clock, None)
    worker.recorder.open()
    with failing(monkeypatch, StoreUnavailable("no")):
        worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [human("hi")]), chat_answer("Hello!")))
        await worker.recorder.close(0.05)
    assert worker.recorder.counts.dropped["closed"] == 1


async def test_no_log_line_holds_what_was_said(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        async with proxied(germane, calendar.clock) as worker:
            with failing(monkeypatch, ValueError("canary99z")):
                call = made_call("openai", [human("canary99z"), {"role": "canary99z", "content": "canary99z"}])
                worker.recorder.offer(worker.turn(agent, "canary99z", call, chat_answer("canary99z")))
                worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [human("canary99z")]), chat_answer("x")))
                assert not await worker.recorder.flush(0.1)
    ours = [record.getMessage() for record in caplog.records if record.name == "germane.service"]
    assert len(ours) >= 2
    assert "canary99z" not in "".join(ours)


# What was forgotten meanwhile.


@pytest.mark.parametrize("what", ["session", "user", "everything", "agent", "org"])
async def test_what_is_forgotten_while_it_waits_does_not_come_back(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """Also where nothing of it was stored yet; what is said afterwards is recorded."""
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        with failing(monkeypatch, StoreUnavailable("no")):
            for session in ("s", "t"):
                call = made_call("openai", [human("my secret wish")])
                worker.recorder.offer(worker.turn(agent, session, call, chat_answer("Noted.")))
            assert not await worker.recorder.flush(0.05)
            calendar.advance(minutes=1)
            if what == "session":
                await agent.forget(session="s")
            elif what == "user":
                await germane.agent("support", org="acme").forget(user="caroline")
            elif what == "everything":
                await agent.forget(everything=True)
            else:
                await germane.forget("acme", agent="support" if what == "agent" else None)
        assert await worker.recorder.flush(20)
        kept = 1 if what == "session" else 0
        assert worker.recorder.counts.dropped["forgotten"] == 2 - kept
        assert len(await texts(agent)) == 2 * kept
        calendar.advance(minutes=1)
        worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [human("good morning")]), chat_answer("Hello!")))
        assert await worker.recorder.flush(20)
    assert await texts(agent, "s") == ["good morning", "Hello!"]


async def test_another_owners_forgetting_touches_nothing(
    germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        with failing(monkeypatch, StoreUnavailable("no")):
            worker.recorder.offer(worker.turn(agent, "s", made_call("openai", [human("hi")]), chat_answer("Hello!")))
            assert not await worker.recorder.flush(0.05)
            calendar.advance(minutes=1)
            for other in (
                agent.within(user="ben"),
                agent.within(user=None),
                germane.agent("support", org="other", user="caroline"),
            ):
                await other.forget(everything=True)
            await agent.forget(session="t")
            await germane.forget("other")
            await germane.forget("acme", agent="other")
        assert await worker.recorder.flush(20)
    assert await texts(agent, "s") == ["hi", "Hello!"]


async def test_an_entry_reads_as_it_was_written(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    worker = ProxiedTurns(germane, calendar.clock, None)
    call = made_call("openai", [human("\ud800 \x00 ü 🙂"), assistant("x"), human("y")])
    content = entry_of(worker.turn(agent, "s", call, chat_answer("z")), worker.sessions)
    assert content is not None
    kept = KeptTurn.of(content)
    assert kept.as_bytes() == content
    assert [message["content"] for message in kept.messages] == ["\ud800 \x00 ü 🙂", "x", "y", "z"]


async def test_fifty_turns_at_once(germane: Germane, agent: Agent, calendar: Calendar, tmp_path: Path) -> None:
    async with proxied(germane, calendar.clock, tmp_path / "spool") as worker:
        calls = [made_call("openai", [human(f"talk {number}")]) for number in range(50)]
        sessions = await asyncio.gather(*(worker.find(agent, call) for call in calls))
        for call, session in zip(calls, sessions, strict=True):
            worker.recorder.offer(worker.turn(agent, session, call, chat_answer("Hello!")))
        assert await worker.recorder.flush(20)
    assert len(set(sessions)) == 50
    assert [await texts(agent, session) for session in sessions] == [[f"talk {number}", "Hello!"] for number in range(50)]
