"""Thinking that is bound to its prefix: nothing of germane's changes before it, whatever fails (INJECT-10)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane import Germane
from germane.engine.bound_injections import KnownTurn, LastKnown
from germane.types.scope import Scope
from germane.types.trace import EarlierInjection
from germane_testing.builders import MOMENT
from support.bound_sessions import FAULTS, HARMLESS, HARMS, BoundSession, Faults, Step
from support.calendar import Opening
from support.examples import examples

pytestmark = pytest.mark.requirement("INJECT-10")


@pytest.fixture
async def two(opening: Opening) -> AsyncIterator[list[Germane]]:
    """Two processes with the same store."""
    opened = [await opening().__aenter__(), await opening().__aenter__()]
    yield opened
    for one in opened:
        await one.__aexit__(None, None, None)


_users = iter(range(10**9))


async def played(
    two: list[Germane], opening: Opening, steps: list[Step], cap: int = 601, *, careful: bool = False
) -> BoundSession:
    async def again() -> Germane:
        return await opening().__aenter__()

    session = BoundSession(two, Faults(), f"user {next(_users)}", cap, again, careful=careful)
    await session.begin()
    with session.faults.installed():
        await session.play(steps)
    assert not session.broken, (steps, session.broken)
    return session


@given(steps=st.lists(st.sampled_from(HARMLESS), min_size=3, max_size=12), cap=st.sampled_from([151, 600, 601, 8001]))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_fault_changes_what_stands_before_thinking(
    two: list[Germane], opening: Opening, steps: list[Step], cap: int
) -> None:
    session = await played(two, opening, steps, cap, careful=True)
    assert session.flagged == 0, steps


async def test_forgetting_for_another_user_keeps_what_is_known_of_the_directive(two: list[Germane], opening: Opening) -> None:
    """The directive of a call that can't read it is the one as last known, also after another user's things were forgotten."""
    steps: list[Step] = [("forget another's", ""), ("fault", "directive"), *[("say", "greyhound Biscuit")] * 2]
    session = await played(two, opening, steps, 151, careful=True)
    assert session.flagged == 0


@given(steps=st.lists(st.sampled_from([*HARMLESS, *HARMS]), min_size=3, max_size=12))
@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_what_takes_a_text_away_is_said(two: list[Germane], opening: Opening, steps: list[Step]) -> None:
    await played(two, opening, steps)


TALK: list[Step] = [("say", "greyhound Biscuit"), ("say", "oolong tea"), ("say", "grey sofa")]


@pytest.fixture
async def session(two: list[Germane], opening: Opening) -> AsyncIterator[BoundSession]:
    """A session of three turns, whose texts hold the dog, the tea and a block."""

    async def again() -> Germane:
        return await opening().__aenter__()

    begun = BoundSession(two, Faults(), f"user {next(_users)}", 8001, again)
    await begun.begin()
    with begun.faults.installed():
        await begun.play(TALK)
        assert "Biscuit" in "".join(text.text for text in begun.last.earlier)
        yield begun


async def said(session: BoundSession, *steps: Step) -> tuple[str, bool]:
    """All of germane's text in the last call of these steps, and whether it says that a prefix changed. Nothing is wrong
    unsaid."""
    await session.play(steps)
    assert not session.broken
    return session.last.added, session.last.metadata.thinking_prefix_changed


async def test_a_full_budget_takes_no_text_away(two: list[Germane]) -> None:
    """A new turn may add a quarter of what is left, so that the texts of all turns together stay below the cap."""
    session = BoundSession(two, Faults(), "full", 401)
    await session.begin()
    for number in range(40):
        await session.agent.remember(f"Fact {number}: the greyhound Biscuit likes the {number}th bone of the day best")
    await session.play([("say", "greyhound Biscuit")] * 12)
    assert (session.flagged, session.broken) == (0, [])
    costs = [text.tokens for text in session.last.earlier]
    assert costs[0] <= 110
    assert session.last.metadata.total_tokens_injected <= 401


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_earlier_texts_stand_at_every_level_of_the_ladder(session: BoundSession, fault: str) -> None:
    """Twice in a row, then all is as before."""
    before = session.last.added
    for _ in range(2):
        text, changed = await said(session, ("fault", fault), ("work", "cello on Fridays"))
        assert (text.startswith(before), changed) == (True, False)
    assert (await said(session, ("say", "oolong tea")))[0].startswith(before)


@pytest.mark.parametrize("step", ["change", "end", "edit"])
async def test_what_was_changed_or_has_ended_keeps_its_text(session: BoundSession, step: str) -> None:
    """Also in another process, and after a restart; the changed text is added with the newest turn."""
    before = session.last.added
    assert {item.source for text in session.last.earlier for item in text.items} == {"memories", "blocks"}
    text, changed = await said(session, ("flush", ""), (step, ""), ("say", "greyhound Biscuit"))
    assert (text.startswith(before), changed) == (True, False)
    assert text.removeprefix(before) or step == "end"
    for steps in ([("elsewhere", ""), ("say", "ok")], [("restart", ""), ("say", "ok")]):
        assert (await said(session, *steps))[0].startswith(before)


async def test_forgetting_takes_the_text_and_says_what_the_provider_needs(session: BoundSession) -> None:
    """As long as thinking is there that was made behind it; the caller decides whether the provider is told."""
    text, changed = await said(session, ("forget", "greyhound Biscuit"), ("say", "ok"))
    assert ("Biscuit" in text, changed) == (False, True)
    plain = session.last.to_anthropic()
    assert plain.keys() == {"messages", "system"}
    own = {"type": "enabled", "budget_tokens": 2000, "block_binding": {"other": 1}}
    body = session.last.to_anthropic(thinking=own, betas=["x"])
    assert body["thinking"] == {**own, "block_binding": {"other": 1, "prefix_mismatch_behavior": "drop_block"}}
    assert body["betas"] == ["x", "thinking-binding-controls-2026-08-01"]
    assert own["block_binding"] == {"other": 1}
    assert session.last.to_anthropic(thinking={"type": "disabled"})["thinking"] == {"type": "disabled"}
    for steps in ([("say", "ok")], [("elsewhere", ""), ("say", "ok")], [("restart", ""), ("work", "ok")]):
        assert (await said(session, *steps))[1]


async def test_what_the_request_forbids_takes_the_text_and_its_return_is_said_too(session: BoundSession) -> None:
    """Thinking was made behind either."""
    await session.play([("work", "cello on Fridays")])
    assert "cello on" in session.last.added
    text, changed = await said(session, ("restrict", ""), ("say", "ok"))
    assert ("cello on" in text, changed) == (False, True)
    text, changed = await said(session, ("restrict", ""), ("say", "ok"))
    assert ("cello on" in text, changed) == (True, True)


async def test_a_new_process_without_a_store_says_that_it_knows_nothing(session: BoundSession) -> None:
    """Once the store answers, the texts stand again."""
    text, changed = await said(session, ("restart", ""), ("fault", "down"), ("say", "ok"))
    assert ("Biscuit" in text, changed) == (False, True)
    assert any("can't be known" in warning for warning in session.last.metadata.warnings)
    text, _ = await said(session, ("say", "ok"))
    assert "Biscuit" in text


async def test_what_the_caller_kept_stays_where_nothing_can_be_read(two: list[Germane], opening: Opening) -> None:
    """Nobody knows behind what each answer was made, and the call says so. Where something was forgotten in this process since,
    no text stays, as it may be that."""

    async def again() -> Germane:
        return await opening().__aenter__()

    session = BoundSession(two, Faults(), "keeper", 8001, again)
    await session.begin()
    with session.faults.installed():
        await session.play([("keep", ""), *TALK])
        before = session.last.added
        for _ in range(2):
            text, changed = await said(session, ("restart", ""), ("fault", "down"), ("say", "ok"))
            assert (text, changed) == (before, True)
        text, _ = await said(session, ("forget", "greyhound Biscuit"), ("fault", "down"), ("say", "ok"))
        assert "Biscuit" not in text


async def test_an_answered_turn_is_never_assembled_anew(session: BoundSession) -> None:
    """Not for a block that was edited, and not where it has no record."""
    session.history.append({"role": "user", "content": "Look up the tea."})
    await session.call({"type": "tool_use", "id": "t", "name": "run", "input": {}})
    first = session.last.added
    session.history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]})
    assert (await said(session, ("edit", ""), ("call", ""))) == (first, False)
    assert not session.last.items
    session.history.append({"role": "user", "content": "Look up the sofa."})
    await session.call({"type": "tool_use", "id": "u", "name": "run", "input": {}})
    session.history.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u", "content": "x"}]})
    await session.agent.remember("Caroline paddles a yellow canoe past the sofa")
    assert (await said(session, ("lose", ""), ("call", "")))[1]
    assert not session.last.items


async def test_other_models_go_on_as_before(session: BoundSession) -> None:
    """Nothing is said of thinking."""
    session.model = "claude-sonnet-5"
    await session.play([("change", ""), ("say", "greyhound Biscuit")])
    assert session.last.metadata.thinking_prefix_changed is False


async def test_an_open_turn_that_got_nothing_on_a_failure_gets_it_when_it_is_sent_again(session: BoundSession) -> None:
    """Nothing has answered it, so nothing is bound to it yet."""
    await session.agent.remember("Caroline paddles a yellow canoe")
    session.history.append({"role": "user", "content": "Who paddles the yellow canoe?"})
    before = [*session.history]
    await said(session, ("fault", "records"), ("call", ""))
    assert "yellow canoe" not in session.last.added
    session.history = before
    assert "yellow canoe" in (await said(session, ("call", "")))[0]
    assert (await said(session, ("say", "ok")))[1] is False


def test_what_is_last_known_is_bounded() -> None:
    """By sessions and by characters, the least recently used first."""
    known = LastKnown(max_sessions=2, max_characters=1_000)
    scopes = [Scope(agent="a", user="u", session=str(number)) for number in range(4)]

    def turns(size: int) -> dict[str, KnownTurn]:
        text = EarlierInjection(turn=0, text="x" * size, tokens=1)
        return {"chain": KnownTurn(text=text, prefix="p", at=MOMENT)}

    for scope in scopes[:3]:
        known.put(scope, turns(10))
    assert [bool(known.find(scope)) for scope in scopes] == [False, True, True, False]
    known.put(scopes[1], turns(900))
    assert [bool(known.find(scope)) for scope in scopes] == [False, True, False, False]
    known.put(scopes[3], turns(2_000))
    assert [known.find(scope) for scope in scopes] == [{}] * 4
    known.put(scopes[0], turns(10))
    known.forget(Scope(agent="a", user="other"))
    assert known.find(scopes[0])
    known.forget(Scope(agent="a"))
    assert known.find(scopes[0]) is None
