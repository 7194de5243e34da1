"""`agent.events`: events are recorded once, listed by their time, and read by an archetype in the same transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Conflict, Filters, Germane, InvalidInput, UnknownName
from germane.extraction.archetypes.findings import Findings, RecordedEvent
from germane.extraction.archetypes.value import Archetype, ContextWeights
from germane.kinds.events.handle import AgentEvents
from germane.kinds.events.value import Event, NewEvent
from germane.kinds.graph.reads import CausalChain, MatchingPatterns, SalientEntities
from germane.kinds.graph.value import EntityFinding
from germane_testing.builders import Hashed

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ALL = Filters(sensitivities=("public", "private", "sensitive"))


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False) as opened:
        yield opened


@pytest.fixture
def events(germane: Germane) -> AgentEvents:
    return germane.agent("x").events


def finds(*names: str) -> Archetype:
    """An archetype whose one extractor finds these things in every event."""
    found = Findings(entities=tuple(EntityFinding(type="thing", name=name) for name in names))
    weights = ContextWeights(recency=0.3, relevance=0.5, salience=0.2)
    return Archetype(name="own", extractors={"things": lambda *_: found}, weights=weights, shares={"semantic": 100})


@pytest.mark.requirement("GRAPH-1")
async def test_an_event_is_stored_as_it_was_given(events: AgentEvents) -> None:
    """Type, wording, outcome, task, time, the caller's id and the content come back."""
    content = {"command": "make", "stdout": "ok"}
    done = await events.record("shell_exec", content, session="s", outcome="success", task="t", at=NOON, id="e1")
    (found,) = (await events.list("s")).events
    assert (found.type, found.text, found.outcome, found.task) == ("shell_exec", "Executed: `make`\nok", "success", "t")
    assert (found.created_at, found.message_id, found.raw) == (NOON, "e1", {"content": content})
    assert done.id == found.id
    assert found.typed


async def test_the_same_id_is_the_same_event(events: AgentEvents) -> None:
    """Sent again it is found; with another content or outcome it raises `Conflict`, and nothing is written."""
    first = await events.record("decision", "use SQLite", session="s", id="d")
    again = await events.record("decision", "use SQLite", session="s", id="d")
    assert (again.id, again.added, first.added) == (first.id, False, True)
    for type, content, outcome in (("decision", "use files", ""), ("decision", "use SQLite", "ok"), ("note", "use SQLite", "")):
        with pytest.raises(Conflict, match="'d'"):
            await events.record(type, content, session="s", outcome=outcome, id="d")
    assert len((await events.list()).events) == 1


async def test_many_writers_at_once_store_each_id_once(events: AgentEvents) -> None:
    """Eight calls with the same ids, and others beside them."""
    batch = [{"type": "note", "content": f"n{n}", "id": f"i{n}"} for n in range(40)]
    results = await asyncio.gather(*(events.record_many(batch, session="s") for _ in range(8)))
    assert {len({one.id for one in column}) for column in zip(*results, strict=True)} == {1}
    assert len((await events.list("s", limit=1000)).events) == 40


async def test_messages_are_recorded_beside_events_as_before(germane: Germane) -> None:
    """A conversation that is sent again adds nothing, however many events stand between; nor does a forgotten event hide a new
    message."""
    agent = germane.agent("x")
    said: list[dict[str, Any]] = [
        {"role": role, "content": f"turn {n}, long enough"} for n in range(4) for role in ("user", "assistant")
    ]
    await agent.record(said, session="s")
    done = await agent.events.record_many([NewEvent(type="file_read", content=f"f{n}") for n in range(100)], session="s")
    again = await agent.record([*said, {"role": "user", "content": "and now?"}], session="s")
    assert (len(again.added), again.skipped) == (1, 8)
    await agent.forget([one.id for one in done[50:]])
    assert len((await agent.record([{"role": "assistant", "content": "something else"}], session="s")).added) == 1
    assert len((await agent.messages("s")).messages) == 10
    assert len((await agent.events.list("s", limit=99)).events) == 50
    stats = await agent.stats()
    assert (stats.messages, stats.events) == (10, 50)


async def test_events_out_of_order_are_listed_by_their_time(events: AgentEvents) -> None:
    """Pages go back in time, whatever the order in which the events came."""
    for hour in (3, 1, 2):
        await events.record("note", f"at {hour}", session="s", at=NOON + timedelta(hours=hour))
    page = await events.list("s", limit=2)
    rest = await events.list("s", limit=2, cursor=page.cursor)
    assert [event.text for event in (*page.events, *rest.events)] == ["note: at 3", "note: at 2", "note: at 1"]
    assert rest.cursor is None


async def test_a_listing_narrows_by_type_task_and_time(events: AgentEvents) -> None:
    """Each filter by itself."""
    await events.record("error", "boom", session="a", task="t1", at=NOON)
    await events.record("note", "fine", session="b", task="t2", at=NOON + timedelta(days=1))

    async def found(**given: Any) -> list[str]:
        return [event.text for event in (await events.list(**given)).events]

    assert await found(types=["error"]) == await found(task="t1") == await found(session="a") == ["Error: boom"]
    assert await found(since=NOON + timedelta(hours=1)) == ["note: fine"]
    assert await found(types=[]) == await found(task="t3") == []


async def test_searches_find_events_within_their_task_and_type(germane: Germane) -> None:
    """By their text, beside messages; the filters narrow to either."""
    agent = germane.agent("x")
    await agent.record([{"role": "user", "content": "the boiler leaks"}], session="s")
    await agent.events.record("decision", "replace the boiler", session="s", task="t1")
    await agent.events.record("error", "the boiler exploded", session="s", task="t2")

    async def found(**given: Any) -> set[str]:
        return {hit.candidate.text for hit in await agent.search("boiler", filters=Filters(**given))}

    assert len(await found()) == 3
    assert await found(task="t1") == await found(event_types=("decision",)) == {"Decision: replace the boiler"}
    assert await found(event_types=("user_message",)) == {"the boiler leaks"}
    assert await found(task="t3") == set()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"type": "user_message", "content": "hi"}, "agent.record"),
        ({"type": "document", "content": "hi"}, "agent.documents"),
        ({"type": ""}, "type is empty"),
        ({"type": "x" * 65}, "64 are allowed"),
        ({"type": "note", "content": 7}, "string or a dict"),
        ({"type": "note", "content": "x" * 4_000_001}, "4,000,000"),
        ({"type": "note", "content": {"n": 10**400}}, "1,024"),
        ({"type": "note", "id": ""}, "id is empty"),
        ({"type": "note", "sensitivity": "secret"}, "sensitivity must be one of"),
        ({"type": "note", "at": "today"}, "at must be a datetime"),
        ({"type": "note", "contents": 1}, "contents"),
        ({"content": "x"}, "lacks its type"),
    ],
)
async def test_what_can_not_be_stored_is_refused_with_the_reason(events: AgentEvents, given: dict[str, Any], said: str) -> None:
    """Before anything of the call is written."""
    with pytest.raises(InvalidInput, match=said):
        await events.record_many([{"type": "note"}, given], session="s")
    assert (await events.list()).events == ()


async def test_a_deep_or_circular_content_is_refused(events: AgentEvents) -> None:
    """It has a limit of nesting."""
    content: dict[str, Any] = {}
    content["again"] = content
    with pytest.raises(InvalidInput, match="levels"):
        await events.record("note", content, session="s")


async def test_secrets_are_redacted_in_text_content_and_entities(germane: Germane) -> None:
    """By name and by form: nothing of them is stored, also not as the name of a command."""
    agent, key = germane.agent("x", archetype="coding"), "AKIA" + "IOSFODNN7" + "EXAMPLE"
    content = {"command": f"aws configure set {key}", "stdout": "done", "password": "tr0ub4dor&3"}
    done = await agent.events.record("shell_exec", content, session="s", outcome=f"stored {key}")
    assert done.event is not None
    stored = repr(done.event) + repr([entity.name for entity in done.entities])
    assert key not in stored
    assert "tr0ub4dor" not in stored
    assert done.event.provenance.metadata["secrets"]


@pytest.mark.requirement("SCOPE-2")
async def test_another_scope_sees_neither_event_nor_id(germane: Germane) -> None:
    """The same id of another user is another event; listings and highlights are one's own and the agent's."""
    anna, ben = (germane.agent("x", user=user).events for user in ("anna", "ben"))
    hers = await anna.record("decision", "hers", session="s", id="one")
    his = await ben.record("decision", "his", session="s", id="one")
    assert hers.id != his.id
    assert [event.text for event in (await ben.list()).events] == ["Decision: his"]
    assert [event.text for event in await ben.highlights()] == ["Decision: his"]
    assert (await germane.agent("y").events.list()).events == ()


@pytest.mark.requirement("GRAPH-4")
async def test_an_extractor_that_fails_takes_nothing_else_along(events: AgentEvents, caplog: pytest.LogCaptureFixture) -> None:
    """The event and what the others found are stored; the failure is in the result and in the log, without content."""

    def fails(event: Event, before: Sequence[Event]) -> Findings:
        raise ValueError(event.text)

    def lies(event: Event, before: Sequence[Event]) -> Any:
        return ["no findings"]

    base = finds("anvil")
    own = replace(base, extractors={"fails": fails, "lies": lies, **base.extractors})
    with caplog.at_level(logging.WARNING):
        done = await events.record("note", "a private matter", session="s", archetype=own)
    assert [entity.name for entity in done.entities] == ["anvil"]
    assert [tuple(one) for one in done.faults] == [("fails", "ValueError"), ("lies", "InvalidInput")]
    assert "fails" in caplog.text
    assert "private matter" not in caplog.text


@pytest.mark.requirement("GRAPH-4")
async def test_a_hook_may_change_or_refuse_an_event(events: AgentEvents) -> None:
    """Plain or to be awaited; what is refused is named in the result and isn't stored."""

    async def tidy(new: NewEvent) -> NewEvent | None:
        return None if new.content == "no" else replace(new, content=str(new.content).upper())

    own = replace(finds(), before=(lambda new: new, tidy))
    done = await events.record_many(
        [{"type": "note", "content": "yes"}, {"type": "note", "content": "no"}], session="s", archetype=own
    )
    assert [one.event and one.event.text for one in done] == ["note: YES", None]
    assert "tidy" in done[1].refused_by
    assert len((await events.list()).events) == 1


async def test_a_hook_before_that_fails_lets_nothing_through(events: AgentEvents) -> None:
    """It may be what keeps secrets out: its exception reaches the caller, and nothing is stored."""

    def broken(new: NewEvent) -> NewEvent:
        raise RuntimeError("no connection")

    with pytest.raises(RuntimeError, match="no connection"):
        await events.record("note", "x", session="s", archetype=replace(finds(), before=(broken,)))
    with pytest.raises(InvalidInput, match="must return the event"):
        await events.record("note", "x", session="s", archetype=replace(finds(), before=(lambda _: "x",)))  # type: ignore[arg-type, return-value]
    assert (await events.list()).events == ()


async def test_a_hook_after_that_fails_loses_nothing(events: AgentEvents, caplog: pytest.LogCaptureFixture) -> None:
    """The event is stored, the others are called, and the log says which hook failed."""
    told = list[RecordedEvent]()

    async def broken(recorded: RecordedEvent) -> None:
        raise RuntimeError("a private matter")

    own = replace(finds("anvil"), after=(broken, told.append))
    done = await events.record("note", "x", session="s", archetype=own, id="n")
    assert told == [done]
    assert "broken" in caplog.text
    assert "private matter" not in caplog.text
    await events.record("note", "x", session="s", archetype=own, id="n")
    assert len(told) == 1


async def test_an_unknown_archetype_is_refused_with_those_that_are_known(
    tmp_path: Path, events: AgentEvents, germane: Germane
) -> None:
    """In a call, for an agent, and on opening."""
    with pytest.raises(UnknownName, match="coding, research, support"):
        await events.record("note", "x", session="s", archetype="codng")
    with pytest.raises(UnknownName, match="coding, research, support"):
        germane.agent("x", archetype="codng")
    with pytest.raises(UnknownName, match="coding, research, support"):
        await Germane.open(tmp_path / "b.db", archetype="codng", warm=False)


@pytest.mark.requirement("GRAPH-3", "GRAPH-4")
async def test_an_error_that_an_edit_ended_is_a_causal_chain_and_a_pattern(germane: Germane) -> None:
    """The command causes the error, the file's edit fixes it, and the next such error finds what worked."""
    agent = germane.agent("x", archetype="coding")
    failed = {"command": "pytest -q", "stdout": "  File \"src/app.py\", line 5, in run\nNameError: name 'x' is not defined"}
    first = await agent.events.record("shell_exec", failed, session="s", outcome="exit 1")
    await agent.events.record("file_edit", {"path": "src/app.py", "old": "x", "new": "y"}, session="s")
    last = await agent.events.record(
        "shell_exec", {"command": "pytest -q", "stdout": "1 passed"}, session="s", outcome="success"
    )
    assert {relation.type for relation in first.relations} == {"uses", "causes", "occurs_in"}
    assert "fixes" in {relation.type for relation in last.relations}
    scoped = agent._scoped(agent.scope)
    (pattern,) = await scoped.ask(MatchingPatterns(["nameerror"], intent="fix", entity_types=(), filters=ALL))
    assert (pattern.successes, pattern.applications) == (1, 1)
    assert "edit src/app.py" in pattern.action
    error = next(entity for entity in first.entities if entity.type == "error")
    chain = await scoped.ask(CausalChain(error.id, ["causes", "fixes"], backwards=True, filters=ALL))
    assert {relation.type for relation in chain} == {"causes", "fixes"}
    await agent.forget([last.id])
    assert await scoped.ask(MatchingPatterns(["nameerror"], intent="fix", entity_types=(), filters=ALL)) == ()


async def test_what_did_not_help_teaches_nothing(germane: Germane) -> None:
    """A failure after an edit makes no pattern, and counts against one that is known."""
    agent = germane.agent("x", archetype="coding")

    async def run(ok: bool) -> RecordedEvent:
        content = {"command": "make", "stdout": "built" if ok else "KeyError: 'port'"}
        return await agent.events.record("shell_exec", content, session="s", outcome="success" if ok else "failure")

    async def edit() -> None:
        await agent.events.record("file_edit", {"path": "a.py", "new": "z"}, session="s")

    await run(ok=False)
    await edit()
    assert (await run(ok=False)).patterns == ()
    await edit()
    (learned,) = (await run(ok=True)).patterns
    await run(ok=False)
    await edit()
    assert (await run(ok=False)).patterns == (learned,)
    (pattern,) = await agent._scoped(agent.scope).ask(
        MatchingPatterns(["keyerror"], intent="fix", entity_types=(), filters=ALL)
    )
    assert (pattern.successes, pattern.applications) == (1, 2)


async def test_messages_name_entities_where_that_is_asked_for(tmp_path: Path) -> None:
    """With `entities` or an archetype, in one transaction with the messages, each entity once; else they cost nothing."""
    said = [
        {"role": "user", "content": text} for text in ("I met Caroline in Vienna", "Caroline likes Vienna", "see src/app.py")
    ]
    for given, count in (({"entities": True}, 3), ({"archetype": "coding"}, 3), ({}, 0)):
        async with Germane.open(tmp_path / f"{count}{len(given)}{given}.db", embedder=Hashed(), warm=False, **given) as opened:
            agent = opened.agent("x")
            await agent.record(said, session="s")
            found = await agent._scoped(agent.scope).ask(SalientEntities(9, at=NOON, filters=ALL))
            names = {entity.name for entity in found}
            assert ({"Caroline", "Vienna", "src/app.py"} <= names) == bool(count)
            assert len(names) == len(found)


async def test_highlights_tell_the_story_of_a_session(events: AgentEvents) -> None:
    """Not what was only read; within the limit of each session."""
    for type, content, outcome in (
        ("file_read", "a.py", ""),
        ("decision", "rewrite it", ""),
        ("error", "boom", ""),
        ("file_edit", {"path": "a.py", "new": "x"}, ""),
        ("test", "test_a", "passed"),
    ):
        await events.record(type, content, session="s", outcome=outcome)
    found = await events.highlights()
    assert [event.type for event in found] == ["decision", "error", "file_edit", "test"]
    assert [event.type for event in await events.highlights(limit=2)] == ["decision", "error"]


async def test_events_of_a_session_are_exported_and_restored(germane: Germane, tmp_path: Path) -> None:
    """With positions of their own, types, outcomes and contents; a second time nothing is added."""
    agent = germane.agent("x")
    await agent.record([{"role": "user", "content": "please build it"}], session="s")
    await agent.events.record("shell_exec", {"command": "make"}, session="s", outcome="success", id="e")
    await agent.events.record("decision", "ship", session="s")
    lines = [line async for line in agent.export()]
    async with Germane.open(tmp_path / "b.db", embedder=Hashed(), warm=False) as other:
        there = other.agent("x")
        await there.restore(lines)
        assert (await there.events.list()).events == (await agent.events.list()).events
        await there.restore(lines)
        more = await there.events.record("note", "later", session="s")
        assert more.added
        assert len((await there.events.list()).events) == 3
