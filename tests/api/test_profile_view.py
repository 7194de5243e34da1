"""The profile as people see and steer it: `agent.profile()` and `agent.mark_line()` (PERSON-1)."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from germane import Agent, Germane
from germane.errors import InvalidInput, NotFound
from germane.kinds.profile.offer import MAX_OFFERED
from germane.kinds.profile.value import ProfileView
from germane.sync import Germane as BlockingGermane
from support.calendar import Calendar

pytestmark = pytest.mark.requirement("PERSON-1")

RULE, KNEE = "From now on keep every answer to five lines tops.", "My left knee is bad since the fall, so no stairs for me."


async def said(agent: Agent, *texts: str, session: str = "first") -> None:
    await agent.record([{"role": "user", "content": text} for text in texts], session=session)


def texts(view: ProfileView) -> list[str]:
    return [line.text for line in view.lines]


def reasons(view: ProfileView) -> dict[str, str]:
    return {line.text: line.reason for line in view.left_out}


async def test_it_shows_what_an_assembly_shows_with_reasons(agent: Agent) -> None:
    """The same lines, written alike, each with where it comes from; nothing else that is stored."""
    memory = await agent.remember("Answer in French", kind="behavior")
    await said(agent, f"{RULE} {KNEE}")
    await agent.remember("The kiln was repaired in May")
    view = await agent.profile()
    assert texts(view) == ["Answer in French", RULE, KNEE]
    stated, rule, about = view.lines
    assert (stated.kind, stated.memory, stated.message, stated.why) == (
        *("instruction", memory.id, None),
        "behavior, stated on purpose",
    )
    event = (await agent.messages()).messages[0]
    assert (rule.kind, rule.memory, rule.message, about.kind) == ("instruction", None, event.id, "about")
    assert rule.id == f"{event.id}@0-{len(RULE)}"
    assert "standing instruction" in rule.why
    assert rule.said_at == event.created_at
    assert view.budget == 500
    assert view.tokens == sum(line.tokens or 0 for line in view.lines) > 0
    context = await agent.assemble([{"role": "user", "content": "hi"}], model="gpt-4o", session="second")
    assert [item.id for item in context.items] == [line.id for line in view.lines]
    assert view.text.split("\n")[1:] == context.added.split("\n")[1:]  # the first line has a nonce


async def test_it_chooses_among_the_lines_that_an_assembly_chooses_among(agent: Agent) -> None:
    """However many could stand: none is looked at that no prompt would hold."""
    for number in range(60):
        await agent.remember(f"likes {hashlib.sha256(bytes([number])).hexdigest()[:9]}", kind="preference")
    view = await agent.profile()
    context = await agent.assemble([{"role": "user", "content": "hi"}], model="gpt-4o", session="second", deadline=None)
    out = {one.scored.id for one in context.trace.left_out if one.scored.candidate.line is not None}
    assert {item.id for item in context.items} == {line.id for line in view.lines}
    assert out == {line.id for line in view.left_out}
    assert len(view.lines) + len(view.left_out) == MAX_OFFERED


async def test_what_is_left_out_has_a_reason(agent: Agent) -> None:
    """A budget that has no room, another line that says the same, and a line that was hidden."""
    await agent.remember("Answer in French", kind="behavior")
    await said(agent, f"{RULE} {KNEE}")
    nothing = await agent.profile(tokens=0)
    assert (nothing.lines, nothing.text, nothing.tokens, nothing.budget) == ((), "", 0, 0)
    assert {reasons(nothing)[text] for text in ("Answer in French", RULE, KNEE)} == {"budget"}
    small = await agent.profile(tokens=20)
    assert texts(small)[0] == "Answer in French"
    assert reasons(small)[KNEE] == "budget"
    whole = await agent.profile(tokens=10_000)
    assert len(set(texts(whole))) == 3
    assert set(reasons(whole).values()) <= {"duplicate"}


async def test_a_line_is_pinned_hidden_and_cleared(agent: Agent) -> None:
    """By its id or the beginning of one; to mark it again changes nothing."""
    await agent.remember("Answer in French", kind="behavior")
    await said(agent, f"{RULE} {KNEE}")
    knee = (await agent.profile()).lines[2]
    start = knee.id.partition("@")[2].split("-")[0]
    short = f"{knee.id[:18]}@{start}"
    assert await agent.mark_line(knee.id, "pin") == await agent.mark_line(short, "pin") == knee.id
    (pinned,) = (await agent.profile(tokens=20)).lines
    assert (pinned.text, pinned.pinned) == (KNEE, True)
    for name in (short, knee.id, knee.id[:-1]):
        assert await agent.mark_line(name, "hide") == knee.id
    hidden = await agent.profile()
    assert KNEE not in texts(hidden)
    assert reasons(hidden)[KNEE] == "hidden"
    await agent.mark_line(short, None)
    await agent.mark_line(knee.id, None)
    assert texts(await agent.profile()) == ["Answer in French", RULE, KNEE]


async def test_what_says_the_same_as_a_hidden_line_is_hidden_too(agent: Agent, calendar: Calendar) -> None:
    """The memory that rules found in the hidden sentence doesn't take its place; what is said again later does."""
    await said(agent, RULE)
    (line,) = (await agent.profile()).lines
    await agent.mark_line(line.id, "hide")
    assert (await agent.profile()).lines == ()
    assert set(reasons(await agent.profile()).values()) == {"hidden"}
    calendar.advance(days=1)
    await said(agent, RULE)
    assert len((await agent.profile()).lines) == 1


async def test_only_lines_of_the_scope_are_marked(agent: Agent, germane: Germane) -> None:
    """Nobody else's, no other thing's id, and no short beginning; an ambiguous one is told with the ids."""
    await said(agent, f"{RULE} {KNEE}")
    line = (await agent.profile()).lines[0]
    event = line.id.partition("@")[0]
    other = germane.agent("support", org="acme", user="ben")
    assert (await other.profile()).lines == ()
    for who, name in ((other, line.id), (other, line.id[:18]), (agent, "absent"), (agent, line.id[:3]), (agent, f"{event}@7")):
        with pytest.raises(NotFound, match="no line"):
            await who.mark_line(name, "pin")
    with pytest.raises(InvalidInput, match="lines here"):
        await agent.mark_line(event, "pin")
    with pytest.raises(InvalidInput, match="mark must be"):
        await agent.mark_line(line.id, "keep")  # type: ignore[arg-type]
    for wrong in (-1, True, "many", 10**9):
        with pytest.raises(InvalidInput, match="tokens"):
            await agent.profile(tokens=wrong)  # type: ignore[arg-type]


async def test_an_earlier_time_shows_the_profile_of_then(agent: Agent, calendar: Calendar) -> None:
    """What was said or began later isn't known then."""
    await said(agent, RULE)
    then = calendar.moment + timedelta(hours=1)
    calendar.advance(days=2)
    await said(agent, KNEE)
    assert texts(await agent.profile(then)) == [RULE]
    assert texts(await agent.profile()) == [RULE, KNEE]


async def test_an_agent_wide_instruction_stands_for_every_user(agent: Agent, germane: Germane) -> None:
    """And in the agent's own profile; a user may hide it for themselves."""
    everybody = germane.agent("support", org="acme")
    rule = await everybody.remember("Quote prices with tax", kind="behavior")
    await everybody.remember("opens at nine", kind="fact", key="shop.hours")
    assert texts(await everybody.profile()) == ["Quote prices with tax", "shop.hours: opens at nine"]
    assert texts(await agent.profile()) == ["Quote prices with tax"]
    await agent.mark_line(rule.id, "hide")
    assert texts(await agent.profile()) == []
    assert texts(await germane.agent("support", org="acme", user="ben").profile()) == ["Quote prices with tax"]


async def test_newer_memories_push_no_instruction_out(agent: Agent, calendar: Calendar) -> None:
    """However many facts came after it."""
    await agent.remember("Answer in French", kind="behavior")
    for number in range(90):
        await agent.remember(f"value {number}", kind="fact", key=f"part.number{number}")
    assert texts(await agent.profile())[0] == "Answer in French"


async def test_what_is_pinned_stands_however_much_was_said_since(agent: Agent, calendar: Calendar) -> None:
    """A memory and a clause that would be read no more; not where the filters or the time asked about exclude them."""
    kept = await agent.remember("size 43", kind="fact", key="user.shoes")
    await said(agent, KNEE)
    knee = next(line for line in (await agent.profile()).lines if line.text == KNEE)
    before = (await agent.profile()).lines
    await agent.mark_line(kept.id, "pin")
    await agent.mark_line(knee.id, "pin")
    calendar.advance(days=1)
    told = [f"My right knee has been bad since fall {number}, so no stairs for me ever, please." for number in range(400)]
    for start in range(0, 400, 100):
        await said(agent, *told[start : start + 100], session="later")
    for number in range(90):
        await agent.remember(f"value {number}", kind="fact", key=f"part.number{number}")
    pinned = [line for line in (await agent.profile(tokens=60)).lines if line.pinned]
    assert {(line.id, line.kind, line.text, line.message) for line in pinned} == {
        (line.id, line.kind, line.text, line.message) for line in before
    }
    await agent.forget([kept.id, knee.message or ""])
    assert not [line for line in (await agent.profile()).lines if line.pinned]


def test_the_blocking_twin_does_the_same(tmp_path: Path) -> None:
    """Both verbs."""
    with BlockingGermane.open(tmp_path / "germane.db") as opened:
        agent = opened.agent("support", user="caroline")
        agent.remember("Answer in French", kind="behavior")
        (line,) = agent.profile().lines
        assert agent.mark_line(line.id, "hide") == line.id
        assert agent.profile(tokens=50).lines == ()
