"""Own words: a message tells the same whether it is recorded, restored, or was stored before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from germane import Germane
from germane.errors import Conflict
from germane.extraction import messages as extraction
from germane.extraction.messages import MAX_READ, noting_own_words, told_by, written_by_user
from germane.kinds.events.reads import ListEvents
from germane.kinds.events.value import Event
from germane.kinds.profile.reads import LineMarks, TellingClauses, mark_line
from germane.kinds.profile.telling import TellingClause
from germane.types.candidate import Provenance
from germane.types.message import Message, Text, ToolResult
from germane.types.query import Filters
from germane_testing.builders import NOON, an_event

pytestmark = pytest.mark.requirement("PERSON-1")

SAID = "Answer in Welsh"
OWN: list[Any] = [
    {"role": "user", "content": SAID},
    {"role": "user", "content": SAID, "extra": 1},
    {"role": "user", "content": [{"type": "text", "text": SAID}]},
    {"role": "user", "parts": [{"text": SAID}]},
    Message.of("user", SAID),
]
OTHERS: list[Any] = [
    {"role": "assistant", "content": SAID},
    {"role": "user", "content": [{"type": "text", "text": SAID}, {"type": "text", "text": "and a page"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "42"}, {"type": "text", "text": SAID}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": SAID}]},
    Message(role="user", parts=(ToolResult(call_id="c", text="42"), Text(SAID))),
]


@pytest.fixture(autouse=True)
def whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a text is one telling clause."""
    monkeypatch.setattr(extraction, "telling_clauses", lambda text: (TellingClause(0, len(text), 0.5, 0.25),))


async def recorded(germane: Germane, messages: list[Any], **given: Any) -> tuple[list[str], list[Event]]:
    """What messages of a new user tell, and the events that they became."""
    agent = germane.agent(user=f"u{len((await germane.agent().users(limit=999)).users)}")
    await agent.record(messages, session="s", **given)
    scoped = agent._scoped(agent.scope)
    events = (await scoped.ask(ListEvents(Filters(), limit=999))).messages
    return [clause.text for clause in await scoped.ask(TellingClauses(999, filters=Filters()))], list(events)


@pytest.mark.parametrize("many", [1, 200])
async def test_a_users_one_text_tells(many: int) -> None:
    """However the caller writes it down, in one commit as in slices; and the stored message says so by itself."""
    async with Germane.open(":memory:", warm=False) as germane:
        for message in OWN:
            for kind in ("user", "import"):
                told, events = await recorded(germane, [message] * many, source_kind=kind)
                assert told == [SAID] * many
                assert all(map(written_by_user, events))
        for message in OTHERS:
            told, events = await recorded(germane, [message] * many)
            assert told == []
            assert not any(map(told_by, events))


async def test_what_others_sent_tells_nothing() -> None:
    """Neither a tool, nor an operator, nor a system, whatever the role is called."""
    async with Germane.open(":memory:", warm=False) as germane:
        for kind in ("tool", "operator", "system"):
            told, events = await recorded(germane, [{"role": "user", "content": SAID}], source_kind=kind)
            assert (told, [told_by(event) for event in events]) == ([], [()])


async def test_it_tells_whether_facts_are_extracted_or_not(tmp_path: Path) -> None:
    """Nothing is copied: a clause is a place in the message."""
    async with Germane.open(tmp_path / "a.db", warm=False, extraction=False) as germane:
        told, _ = await recorded(germane, [{"role": "user", "content": SAID}])
        assert told == [SAID]


async def test_of_a_long_message_the_beginning_is_read() -> None:
    """20,000 characters of it."""
    async with Germane.open(":memory:", warm=False) as germane:
        told, events = await recorded(germane, [{"role": "user", "content": "é" * (MAX_READ + 5)}])
        assert told == ["é" * MAX_READ]
        assert [clause.end for event in events for clause in told_by(event)] == [MAX_READ]


def test_only_what_doesnt_show_is_noted() -> None:
    """A message that says by itself who wrote it gets no note, and a note counts for more than what it seems."""
    plain = an_event(SAID)
    mixed = an_event(SAID, raw={"content": [{"type": "text", "text": f"{SAID}!"}]})
    assert noting_own_words(plain, True) is plain
    assert noting_own_words(mixed, False) is mixed
    for event, own in ((plain, False), (mixed, True)):
        noted = noting_own_words(event, own)
        assert noted.provenance.metadata == {"own_words": own}
        assert written_by_user(noted) is own
        assert written_by_user(noted._replace(provenance=Provenance(metadata={"own_words": "no"}))) is not own
    tools = an_event(SAID, type="tool_message", role="tool")
    assert noting_own_words(tools, True) is tools


async def test_what_was_told_comes_back_with_an_export() -> None:
    """With the marks of the profile; clauses aren't part of it, they are found again."""
    messages = [*OWN, *OTHERS]
    async with Germane.open(":memory:", warm=False) as germane, Germane.open(":memory:", warm=False) as other:
        agent = germane.agent(user="ada")
        await agent.record(messages, session="s")
        here, there = (one.agent(user="ada")._scoped(agent.scope) for one in (germane, other))
        first, *_ = told = await here.ask(TellingClauses(99, filters=Filters()))
        await here.commit(mark_line(first.line, "pin", at=NOON))
        lines = [line async for line in agent.export()]
        assert len(told) == len(OWN)
        for count, known in ((1, 0), (0, 1)):
            receipt = await other.restore(lines)
            assert (receipt.profile_marks, receipt.known > 0) == (count, known > 0)
        assert set(await there.ask(TellingClauses(99, filters=Filters()))) == set(told)
        assert await there.ask(LineMarks()) == {first.line: "pin"}
        assert [line async for line in other.agent(user="ada").export()] == lines
        await other.agent(user="ada").forget(ids=[first.id])
        receipt = await other.restore(lines)
        assert (receipt.profile_marks, await there.ask(LineMarks())) == (0, {})


async def test_a_mark_of_what_isnt_there_is_a_conflict() -> None:
    """Told with the number of its line."""
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent(user="ada")
        await agent.record([OWN[0]], session="s")
        lines = [dict(line) async for line in agent.export()]
        mark = {"type": "profile_mark", "line": "absent@0-1", "mark": "hide", "at": NOON.isoformat()}
        lines.append({**{name: lines[1][name] for name in ("org", "agent", "user")}, **mark})
        with pytest.raises(Conflict, match=f"line {len(lines)}: its message or memory isn't stored here"):
            await agent.restore(lines)
        assert (await agent.restore(lines, skip_conflicts=True)).conflicts == [len(lines)]
