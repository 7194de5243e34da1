"""Conversation state: conversations are told apart by their exchanges, and messages by their places (PROXY-4, PROXY-1)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import Agent, Clock, Germane
from germane.dialects.registry import parse_all
from germane.kinds.conversations.aliases import AliasedSession, SessionAlias
from germane.service.proxy.conversation_state import (
    MAX_BEHIND,
    MAX_EXCHANGES,
    ConversationState,
    first_new,
    message_ids,
    state_of,
)
from germane.service.proxy.sessions import Sessions
from germane.types.scope import Scope
from support.examples import examples
from support.proxied_turns import assistant, human, made_call

pytestmark = pytest.mark.requirement("PROXY-4")
KEY = b"k" * 48
Fields = dict[str, Any]
Exchanges = tuple[tuple[str, str], ...]


class KeptAliases:
    """What a store keeps of aliases."""

    def __init__(self) -> None:
        self.rows = dict[tuple[str, str], AliasedSession]()

    async def aliased(self, aliases: Sequence[str]) -> tuple[AliasedSession, ...]:
        rows = sorted(self.rows.values(), key=lambda one: one.at, reverse=True)
        return tuple(row for alias in aliases for row in rows if row.alias == alias)

    def put(self, session: str, aliases: Sequence[SessionAlias], ended: Sequence[str], clock: Clock) -> None:
        for alias in ended:
            self.rows.pop((alias, session), None)
        for one in aliases:
            self.rows[one.alias, session] = AliasedSession(alias=one.alias, session=session, turns=one.turns, at=clock.now())


def said(exchanges: Exchanges) -> list[Fields]:
    return [message for question, answer in exchanges for message in (human(question), assistant(answer))]


WORDS = st.sampled_from(["hi", "ok", "go on", "what now?"])
STEPS = st.lists(st.tuples(st.integers(0, 3), WORDS, st.sampled_from(["Hello!", "Yes.", "No."])), min_size=1, max_size=40)


@examples(400)
@given(STEPS, st.booleans(), st.sets(st.integers(0, 39)))
async def test_a_session_is_only_continued_by_what_it_holds(
    steps: list[tuple[int, str, str]], restarts: bool, forks: set[int]
) -> None:
    """Conversations of few words, so that many are alike. A session that holds the very exchanges of the request is taken where
    there is one; else one of whose exchanges the request holds all, and more; never one that holds others."""
    from datetime import UTC, datetime, timedelta

    now = datetime(2026, 1, 1, tzinfo=UTC)
    clock = Clock(now=lambda: now)
    store = KeptAliases()
    agent = cast("Agent", SimpleNamespace(scope=Scope(user="u"), conversations=store))
    germane = cast("Germane", SimpleNamespace(pseudonym=lambda name: name[-12:]))
    sessions = Sessions(germane, clock)
    talks: dict[int, Exchanges] = {}
    held: dict[str, Exchanges] = {}
    for index, (number, question, answer) in enumerate(steps):
        now += timedelta(seconds=1)
        if restarts:
            sessions = Sessions(germane, clock)
        exchanges = talks.get(number, ())
        if index in forks:
            exchanges = exchanges[: len(exchanges) // 2]
        messages = [*said(exchanges), human(question)]
        found = await sessions.find(agent, made_call("openai", messages), deadline=20)
        same = {session for session, state in held.items() if state == exchanges}
        asked = {session for session, state in held.items() if state[:-1] == exchanges and state and state[-1][0] == question}
        if not exchanges:
            assert found not in held
        elif same:
            assert found in same
        elif found in held and found not in asked:
            state = held[found]
            behind = exchanges[: len(state)] == state and len(exchanges) - len(state) <= MAX_BEHIND
            trimmed = len(exchanges) >= 2 and state[-len(exchanges) :] == exchanges
            humans = [one for one, _ in state] == [one for one, _ in exchanges]
            assert behind or trimmed or humans
        before = state_of(parse_all(messages, "openai"), sessions.key)
        after = before.answered(parse_all([assistant(answer)], "openai")[0], sessions.key)
        learnt = sessions.learn(agent.scope, found, before, after)
        store.put(found, learnt.aliases, learnt.ended, clock)
        talks[number] = held[found] = (*exchanges, (question, answer))


@examples(200)
@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), WORDS), max_size=30), st.integers(0, 30))
def test_messages_that_are_sent_again_have_the_same_ids(said: list[tuple[str, str]], cut: int) -> None:
    """Whatever follows, and whatever the system messages are; no two of a conversation have the same."""
    messages = parse_all([{"role": role, "content": text} for role, text in said], "openai")
    ids = message_ids(messages, KEY)
    assert message_ids(messages[:cut], KEY) == ids[:cut]
    spoken = [id for message, id in zip(messages, ids, strict=True) if message.role != "system"]
    assert len(set(spoken)) == len(spoken)
    assert message_ids([message for message in messages if message.role != "system"], KEY) == spoken
    assert set(message_ids(messages, KEY, after="resp_1")).isdisjoint(ids)
    assert set(message_ids(messages, b"x" * 48)).isdisjoint(ids)


@examples(200)
@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=2 * MAX_EXCHANGES), st.text(max_size=40))
def test_a_state_grows_as_its_conversation_does(exchanges: list[tuple[str, str]], question: str) -> None:
    talk = said(tuple(exchanges))
    messages = parse_all(talk, "openai")
    whole = state_of(messages, KEY)
    assert whole.length == min(len(exchanges), MAX_EXCHANGES)
    asked = state_of(parse_all(talk[:-1], "openai"), KEY)
    answered = asked.answered(messages[-1], KEY)
    assert (answered.turns, answered.asked) == (whole.turns, b"")
    more = state_of(parse_all([*talk, human(question)], "openai"), KEY)
    assert more.turns == whole.turns
    assert {one.alias for one in whole.aliases(KEY)} & {one.alias for one in more.questions(KEY)}
    assert max(len(one.turns) for one in whole.aliases(KEY)) <= 4096


def test_what_is_new_begins_behind_the_last_answer() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "r"}
    talk = [{"role": "system", "content": "s"}, human("a"), assistant("b"), human("c"), call, result]

    def new(messages: list[Fields], ahead: int) -> int:
        return first_new(parse_all(messages, "openai"), ahead)

    assert new(talk, 0) == 5
    assert new(talk[:4], 0) == 3
    assert new([*talk, human("d"), human("e")], 0) == 5
    assert new(talk[:2], 0) == 0
    assert new(talk, 1) == 3
    assert new([*talk, human("d")], 1) == 3
    assert new([*talk, human("d")], 2) == 1
    assert new([*talk, human("d")], 9) == 1


def test_no_hash_tells_what_was_said() -> None:
    """Another key gives others, for every kind of hash."""
    messages = parse_all(
        [human("a question of some length, so that it tells its conversation"), assistant("b"), human("c")], "openai"
    )
    one, other = state_of(messages, KEY), state_of(messages, b"x" * 48)
    assert one.turns != other.turns
    assert one.asked != other.asked
    assert {each.alias for each in one.questions(KEY)}.isdisjoint(each.alias for each in one.questions(b"x" * 48))


def test_a_conversation_without_a_human_has_no_state() -> None:
    assert state_of((), KEY) == ConversationState()
    assert state_of(parse_all([{"role": "system", "content": "x"}, assistant("y")], "openai"), KEY).questions(KEY) == ()
