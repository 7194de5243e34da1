"""Sessions: a call belongs to the session that its caller, its client, its provider or its messages name (PROXY-4)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from germane import Agent, Germane
from germane.kinds.conversations.handle import AgentConversations
from germane.service.proxy.sessions import Sessions, call_name, keeps_answer, previous_answer
from support.calendar import Calendar, Opening
from support.proxied_turns import (
    ProxiedTurns,
    answer_copy,
    assistant,
    chat_answer,
    human,
    made_call,
    proxied,
    responses_answer,
    texts,
)

pytestmark = pytest.mark.requirement("PROXY-4")
Fields = dict[str, Any]
UUID = "0d1b4c66-6a53-4d59-9a6e-1fd8c1b1c0de"


# Names.


@pytest.mark.parametrize(
    ("api", "headers", "body", "expected"),
    [
        ("openai", {"x-germane-session": "mine", "session_id": "theirs"}, {}, "mine"),
        ("anthropic", {"x-claude-code-session-id": UUID}, {}, UUID),
        ("openai-responses", {"session_id": "root", "thread_id": "part"}, {}, "part"),
        ("openai-responses", {"session_id": "root"}, {}, "root"),
        ("openai-responses", {"conversation_id": "older"}, {}, "older"),
        ("openai", {"x-opencode-session": "ses_1"}, {}, "ses_1"),
        ("anthropic", {}, {"metadata": {"user_id": json.dumps({"session_id": UUID, "device": "d"})}}, UUID),
        ("anthropic", {}, {"metadata": {"user_id": f"user_ab12_account_c_session_{UUID}"}}, UUID),
        ("anthropic", {}, {"metadata": {"user_id": "somebody"}}, None),
        ("anthropic", {}, {"metadata": {"user_id": "{"}}, None),
        ("anthropic", {}, {"metadata": {"user_id": "{" * 2_000}}, None),
        ("anthropic", {}, {"metadata": {"user_id": json.dumps({"session_id": 7})}}, None),
        ("anthropic", {}, {"metadata": "x", "thread": "y"}, None),
        ("anthropic", {}, {"thread": {"id": "thr_1"}}, "thr_1"),
        ("openai", {}, {"metadata": {"user_id": f"a_session_{UUID}"}}, None),
        ("openai-responses", {}, {"conversation": "conv_1"}, "conv_1"),
        ("openai-responses", {}, {"conversation": {"id": "conv_2"}}, "conv_2"),
        ("openai-responses", {}, {"prompt_cache_key": "key", "safety_identifier": "x", "user": "u"}, None),
        ("openai", {"x-germane-session": "  "}, {"prompt_cache_key": "key"}, None),
    ],
)
def test_who_names_a_session(api: str, headers: Mapping[str, str], body: Fields, expected: str | None) -> None:
    """The caller, then the client, then the body; never the key of the prompt's cache."""
    assert call_name(made_call(api, [human("hi")], body), headers) == expected
    assert call_name(made_call(api, [human("hi")], body), headers, "path") == "path"


@pytest.mark.parametrize(
    "name", ["x" * 257, "a\nb", "\ud800", "document:x", "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL", "x" * 10**6]
)
def test_a_name_that_can_not_be_one_is_replaced_by_the_same_one_each_time(name: str) -> None:
    call = made_call("openai", [human("hi")])
    found = call_name(call, {}, name)
    assert found == call_name(call, {"x-germane-session": name})
    assert found is not None
    assert found.startswith("session-")
    assert len(found) == 40


def test_which_answer_is_gone_on_from() -> None:
    assert previous_answer(made_call("openai-responses", [], {"previous_response_id": "resp_1"})) == "resp_1"
    assert (
        previous_answer(made_call("anthropic", [], {"thread": {"type": "continue", "previous_message_id": "msg_1"}})) == "msg_1"
    )
    assert previous_answer(made_call("openai", [], {"previous_response_id": "resp_1"})) is None
    assert keeps_answer(made_call("openai-responses", [], {}))
    assert not keeps_answer(made_call("openai-responses", [], {"store": False}))
    assert not keeps_answer(made_call("anthropic", [], {}))


async def test_one_id_of_two_owners_is_two_sessions(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Somebody else's id under one's own key leads to nothing of theirs."""
    others = [agent.within(user="ben"), germane.agent("support", org="other", user="caroline")]
    others.append(germane.agent("sales", org="acme", user="caroline"))
    async with proxied(germane, calendar.clock) as worker:
        history = list[Fields]()
        for text in ("a secret", "more"):
            await worker.talk(agent, history, text, f"about {text}", named="shared")
        for other in others:
            assert await worker.find(other, made_call("openai", [*history, human("hi")]), named="shared") == "shared"
            assert await worker.ask(other, [human("hi")], "Hello!", named="shared") == "shared"
            assert await texts(other, "shared") == ["hi", "Hello!"]
            found = await worker.find(other, made_call("openai", [*history, human("what was it?")]))
            assert await texts(other, found) == []
    assert await texts(agent, "shared") == ["a secret", "about a secret", "more", "about more"]


# What the provider holds.


@pytest.mark.parametrize("worker", ["same", "other"])
async def test_a_chain_of_answers_is_one_session(germane: Germane, agent: Agent, calendar: Calendar, worker: str) -> None:
    """Also for another worker, or after a restart; an answer of somebody else's leads nowhere."""
    previous, sessions = None, list[str]()
    async with proxied(germane, calendar.clock) as one, proxied(germane, calendar.clock) as two:
        for number in range(4):
            this = two if worker == "other" and number % 2 else one
            body: Fields = {"previous_response_id": previous} if previous else {}
            call = made_call("openai-responses", [human(f"question {number}")], body, held=previous is not None)
            sessions.append(await this.find(agent, call))
            this.recorder.offer(this.turn(agent, sessions[-1], call, responses_answer(f"resp_{number}", f"answer {number}")))
            assert await this.recorder.flush(20)
            previous = f"resp_{number}"
        assert len(set(sessions)) == 1
        assert await texts(agent, sessions[0]) == [f"{kind} {number}" for number in range(4) for kind in ("question", "answer")]
        asked = made_call("openai-responses", [human("and?")], {"previous_response_id": "resp_2"}, held=True)
        assert await one.find(agent.within(user="ben"), asked) not in sessions


async def test_a_thread_is_one_session_and_an_unknown_answer_begins_one(
    germane: Germane, agent: Agent, calendar: Calendar
) -> None:
    def answer(id: str) -> Any:
        message = {"id": id, "type": "message", "role": "assistant", "content": [{"type": "text", "text": f"said {id}"}]}
        return answer_copy(json.dumps(message))

    async with proxied(germane, calendar.clock) as worker:
        first = made_call("anthropic", [human("hi")], {"thread": {"type": "create"}})
        session = await worker.find(agent, first)
        worker.recorder.offer(worker.turn(agent, session, first, answer("msg_1")))
        assert await worker.recorder.flush(20)
        thread = {"type": "continue", "previous_message_id": "msg_1"}
        assert await worker.find(agent, made_call("anthropic", [human("more")], {"thread": thread}, held=True)) == session
        lost = made_call("anthropic", [human("more")], {"thread": thread | {"previous_message_id": "msg_9"}}, held=True)
        begun = await worker.find(agent, lost)
        assert begun != session
        assert await worker.find(agent, lost) == begun


# What the messages go on from.


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_conversation_that_grows_is_one_session(opening: Opening, calendar: Calendar, restarted: bool) -> None:
    history, sessions = list[Fields](), set[str]()
    for number in range(1 if not restarted else 4):
        async with opening() as germane, proxied(germane, calendar.clock) as worker:
            agent = germane.agent("support", org="acme", user="caroline")
            for step in range(4) if not restarted else [number]:
                sessions.add(await worker.talk(agent, history, f"question {step}", f"answer {step}"))
                calendar.advance(days=1)
            assert await texts(agent) == [message["content"] for message in history]
    assert len(sessions) == 1


@pytest.fixture(params=["same worker", "other worker"])
async def workers(request: pytest.FixtureRequest, germane: Germane, calendar: Calendar) -> Any:
    """The worker that records, and the one that is asked."""
    async with proxied(germane, calendar.clock) as one:
        yield one, one if request.param == "same worker" else ProxiedTurns(germane, calendar.clock, None)


async def test_what_is_edited_begins_a_session_and_what_is_sent_again_does_not(
    workers: tuple[ProxiedTurns, ProxiedTurns], agent: Agent
) -> None:
    worker, asked = workers
    history = list[Fields]()
    for number in range(3):
        session = await worker.talk(agent, history, f"question {number}", f"answer {number}")

    async def found(*messages: Fields) -> bool:
        return await asked.find(agent, made_call("openai", messages)) == session

    more = human("and then?")
    assert await found(*history, more)
    assert await found({"role": "system", "content": "another prompt"}, *history, more)
    assert await found(*history[:-1])  # the last turn again
    assert not await found(*history[:4], human("edited"))
    assert not await found(*history[:2], human("edited"), assistant("anew"), more)
    assert not await found(human("edited"), *history[1:], more)
    assert not await found(history[0])  # a conversation may begin with the same words
    assert await found(*history[:-1], assistant("answer 2, edited"), more)


async def test_a_fork_and_its_origin_go_on_side_by_side(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    async with proxied(germane, calendar.clock) as worker:
        history = list[Fields]()
        for number in range(3):
            origin = await worker.talk(agent, history, f"question {number}", f"answer {number}")
        fork = history[:2]
        sessions = [await worker.talk(agent, fork, f"other {number}", f"other answer {number}") for number in range(2)]
        assert await worker.talk(agent, history, "on", "and on") == origin
        assert set(sessions) == {sessions[0]} != {origin}
    assert await texts(agent, origin) == [message["content"] for message in history]
    assert await texts(agent, sessions[0]) == [message["content"] for message in fork]


async def test_the_end_of_a_long_conversation_is_enough(workers: tuple[ProxiedTurns, ProxiedTurns], agent: Agent) -> None:
    """Applications send the last messages only. Each message is stored once."""
    worker, asked = workers
    history = list[Fields]()
    sessions = set[str]()
    for number in range(30):
        history.append(human(f"question {number}"))
        call = made_call("openai", history[-7:])
        worker.recorder.offer(
            worker.turn(
                agent, (session := await (asked if number else worker).find(agent, call)), call, chat_answer(f"a {number}")
            )
        )
        assert await worker.recorder.flush(20)
        sessions.add(session)
        history.append(assistant(f"a {number}"))
    assert len(sessions) == 1
    assert len((await agent.sessions()).sessions) == 1
    assert await texts(agent, session) == [message["content"] for message in history]


@pytest.mark.parametrize("long", [True, False])
async def test_a_single_exchange_is_enough_where_it_is_long(
    workers: tuple[ProxiedTurns, ProxiedTurns], agent: Agent, long: bool
) -> None:
    """Everybody says "ok", and is told "Done."; a request that begins with it may be anybody's."""
    worker, asked = workers
    history, sessions = list[Fields](), set[str]()
    for number in range(5):
        answer = "Nothing of any use." if long else "Done."
        history.append(human(f"{number} What did they say of the boiler in the cellar?" if long else f"ok {number}"))
        call = made_call("openai", history[-3:])
        session = await (asked if number else worker).find(agent, call)
        worker.recorder.offer(worker.turn(agent, session, call, chat_answer(answer)))
        assert await worker.recorder.flush(20)
        history.append(assistant(answer))
        sessions.add(session)
    assert (len(sessions) == 1) == long
    if long:
        assert await texts(agent, session) == [message["content"] for message in history]


async def test_a_lone_first_message_begins_a_session(workers: tuple[ProxiedTurns, ProxiedTurns], agent: Agent) -> None:
    """Nobody can tell whose "hi" it is: the answer, or else the second turn, parts the conversations."""
    worker, asked = workers
    talks: list[list[Fields]] = [[] for _ in range(5)]
    sessions = [await worker.talk(agent, talk, "hi", "Hello!") for talk in talks]
    assert len(set(sessions)) == 5
    second = [await worker.talk(agent, talk, f"about {number}", "Yes.") for number, talk in enumerate(talks)]
    assert sorted(second) == sorted(sessions)
    third = [await asked.find(agent, made_call("openai", [*talk, human("ok")])) for talk in talks]
    assert third == second


async def test_fifty_conversations_at_once_that_begin_alike(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Each agent calls tools, and sends its next request before the answer to the last one was read."""
    async with proxied(germane, calendar.clock) as worker:

        async def one(number: int) -> tuple[str, list[str]]:
            history, found = [human("begin")], list[str]()
            for step in range(4):
                call = made_call("openai", [*history])
                found.append(await worker.find(agent, call))
                named = {"name": "look", "arguments": json.dumps([number, step])}
                called = {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": named}],
                }
                worker.recorder.offer(worker.turn(agent, found[-1], call, chat_answer(called)))
                history += [called, {"role": "tool", "tool_call_id": "c", "content": f"seen {number} {step}"}]
            return found[0], found

        talks = await asyncio.gather(*map(one, range(50)))
        assert await worker.recorder.flush(30)
    assert all(set(found) == {first} for first, found in talks)
    assert len({first for first, _ in talks}) == 50
    for number, (session, _) in enumerate(talks):
        expected = ["begin"]
        for step in range(4):
            expected += [f"look([{number}, {step}])", f"seen {number} {step}"]
        assert await texts(agent, session) == expected[:-1]


async def test_an_answer_that_was_never_recorded_does_not_part_a_conversation(
    germane: Germane, agent: Agent, calendar: Calendar
) -> None:
    async with proxied(germane, calendar.clock) as worker:
        history = list[Fields]()
        for number in range(2):
            session = await worker.talk(agent, history, f"question {number}", f"answer {number}")
        for number in range(3):
            history += [human(f"elsewhere {number}"), assistant(f"answered there {number}")]
        assert await worker.talk(agent, history, "back", "Welcome.") == session
    assert await texts(agent, session) == [message["content"] for message in history]


async def test_examples_before_a_question_are_no_session(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    """Requests that share a made beginning are conversations of their own."""
    shots = [human("2 + 2"), assistant("4"), human("3 + 3"), assistant("6")]
    async with proxied(germane, calendar.clock) as worker:
        found = {await worker.ask(agent, [*shots, human(f"{number} + 1")], str(number + 1)) for number in range(4)}
    assert len(found) == 4


# Failures.


@pytest.mark.parametrize("how", ["raises", "hangs"])
async def test_a_store_that_fails_gives_the_same_session_again(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async def failing(self: AgentConversations, aliases: Any) -> Any:
        if how == "raises":
            raise ZeroDivisionError
        await asyncio.Event().wait()

    history = [human("one"), assistant("two"), human("three")]
    monkeypatch.setattr(AgentConversations, "aliased", failing)
    sessions = Sessions(germane, calendar.clock)
    found = await sessions.find(agent, made_call("openai", history), deadline=0.02)
    longer = [*history, assistant("four"), human("five")]
    assert await Sessions(germane, calendar.clock).find(agent, made_call("openai", longer), deadline=0.02) == found
    assert await sessions.find(agent.within(user="ben"), made_call("openai", history), deadline=0.02) != found
    assert await sessions.find(agent, made_call("openai", [human("one")])) != found
    assert await sessions.find(agent, made_call("openai", history), named="named", deadline=0.02) == "named"


@pytest.mark.parametrize("messages", [None, 7, [7], [{}], [{"role": "x"}], [{"role": "user", "content": 7}], [human("\ud800")]])
async def test_whatever_a_call_holds_it_has_a_session(
    germane: Germane, agent: Agent, calendar: Calendar, messages: Any
) -> None:
    sessions = Sessions(germane, calendar.clock)
    for api in ("openai", "anthropic", "openai-responses", "unknown"):
        assert await sessions.find(agent, made_call(api, messages))
        assert await sessions.find(agent, made_call(api, messages, {"previous_response_id": "\ud800"}, held=True))


async def test_what_this_process_knows_needs_no_store(
    germane: Germane, agent: Agent, calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversation that goes on, one whose answers were edited or not recorded, and one whose answer is being read."""

    async def failing(self: AgentConversations, aliases: Any) -> Any:
        raise ZeroDivisionError

    history = list[Fields]()
    async with proxied(germane, calendar.clock) as worker:
        for number in range(3):
            session = await worker.talk(agent, history, f"question {number}", f"answer {number}")
        monkeypatch.setattr(AgentConversations, "aliased", failing)
        more = human("and?")
        for messages in ([*history, more], [*history[:-1], assistant("edited"), more], [*history, more, assistant("x"), more]):
            assert await worker.find(agent, made_call("openai", messages), deadline=0) == session
        begun = await worker.find(agent, made_call("openai", [human("hi")]))
        answered = [human("hi"), assistant("not read yet"), human("more")]
        assert await worker.find(agent, made_call("openai", answered), deadline=0) == begun


async def test_a_forgotten_session_is_found_no_more(germane: Germane, agent: Agent, calendar: Calendar) -> None:
    history = list[Fields]()
    async with proxied(germane, calendar.clock) as worker:
        for number in range(2):
            session = await worker.talk(agent, history, f"question {number}", f"answer {number}")
        calendar.advance(minutes=1)
        await agent.forget(session=session)
        asked = ProxiedTurns(germane, calendar.clock, None)
        assert await asked.find(agent, made_call("openai", [*history, human("on")])) != session
        await worker.talk(agent, history, "on", "and on")
    assert "question 0" not in await texts(agent)
