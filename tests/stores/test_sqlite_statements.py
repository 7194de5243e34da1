"""The statements of an assembly: their text is the same for all users, so that each connection prepares them once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane import Germane
from germane.kinds.inventory import AllowedIds
from germane.stores.sqlite.readers import SqliteReading
from germane.types.query import Filters
from support.scans import Scans

_QUESTION = [{"role": "user", "content": "Where does the ferry to Naxos leave, and who paid for the tickets?"}]
_TALK = [
    {"role": "user", "content": "I prefer the ferry to Naxos to the plane"},
    {"role": "assistant", "content": "The ferry to Naxos leaves from pier seven"},
]


@pytest.mark.requirement("SCOPE-1", "ENGINE-10")
@pytest.mark.parametrize("strategy", ["default", "support", "research", "coding"])
async def test_an_assembly_for_another_user_needs_no_statement_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """A text with the ids of a user's partition in it would be prepared anew for each user, as a connection keeps some 200."""
    seen: list[str] = []
    made = SqliteReading.__init__

    def noting(self: SqliteReading, connection: apsw.Connection) -> None:
        made(self, connection)

        def traced(cursor: object, sql: str, bound: object) -> bool:
            seen.append(sql)
            return True

        connection.exec_trace = traced

    monkeypatch.setattr(SqliteReading, "__init__", noting)
    texts = dict[str, set[str]]()
    async with Germane.open(tmp_path / "g.db", freeze=False) as germane:
        for user in ("ann", "bob"):
            await germane.agent("travel", user=user).record(_TALK, session="s1")
            await germane.agent("travel", user=user).remember("Tickets are kept in the drawer", kind="note")
            await germane.agent("travel", user=user).warm()
        for user in ("ann", "bob"):
            seen.clear()
            agent = germane.agent("travel", user=user)
            context: Any = await agent.assemble(_QUESTION, model="gpt-4o", strategy=strategy, deadline=None)
            assert "pier seven" in context.added
            texts[user] = {*seen}
    assert texts["ann"] == texts["bob"]


@pytest.mark.requirement("ENGINE-10")
@pytest.mark.parametrize("strategy", ["default", "verbose", "support", "research", "coding"])
async def test_no_assembly_sorts_a_session_or_all_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    """The latest few are read in the order of an index, however much was said."""
    scans = Scans(monkeypatch)
    async with Germane.open(tmp_path / "g.db", freeze=False) as germane:
        agent = germane.agent("travel", user="ann")
        for session in ("s1", "s2"):
            await agent.record(_TALK, session=session)
        await agent.assemble(_QUESTION, model="gpt-4o", strategy=strategy, session="s2", deadline=None)
    assert scans.sorting("events", "sessions") == []


@pytest.mark.requirement("OPS-3")
async def test_no_page_sorts_all_that_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the agent has for all users, and what it has for one, the first few are read in the order of an index."""
    async with Germane.open(tmp_path / "g.db", freeze=False) as germane:
        for agent in (germane.agent("travel"), germane.agent("travel", user="ann")):
            await agent.record(_TALK, session="s1")
            await agent.remember("Likes Lisbon")
            await agent.graph.add("city", "Lisbon")
            await agent.documents.ingest(text="# Lisbon\n\nA city.", source="/lisbon.md")
            await agent.events.record("search", "Lisbon", session="s1")
            await agent.blocks.archive("Lisbon has trams")
            await agent.tasks.push("Find a flat", session="s1")
    scans = Scans(monkeypatch)
    async with Germane.open(tmp_path / "g.db", freeze=False, warm=False) as germane:
        agent = germane.agent("travel", user="ann")
        lists = (agent.memories, agent.graph, agent.documents, agent.events)
        for size in (1, 2):
            pages: list[Any] = [await room.list(limit=size) for room in lists]
            pages += [await agent.messages(limit=size), await agent.sessions(limit=size)]
            assert size == 2 or all(page.cursor for page in pages)
        assert len(await agent.tasks.list(limit=1)) == 1
    sorting = scans.sorting("memories", "entities", "sessions", "tasks")
    assert [sql for sql in sorting if "AND e.position < 0" not in sql] == []  # a session's few other events are sorted


@pytest.mark.requirement("PACK-8", "ENGINE-10")
async def test_the_gate_asks_a_kind_only_for_ids_that_may_be_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One statement for memories and messages; one more for what is named by a form of its own; ids without one are looked for
    in the archive and in the three tables of the graph."""
    seen: list[str] = []
    made = SqliteReading.__init__

    def noting(self: SqliteReading, connection: apsw.Connection) -> None:
        made(self, connection)

        def traced(cursor: object, sql: str, bound: object) -> bool:
            seen.append(sql)
            return True

        connection.exec_trace = traced

    monkeypatch.setattr(SqliteReading, "__init__", noting)
    async with Germane.open(tmp_path / "g.db", warm=False) as germane:
        agent = germane.agent("travel", user="ann")
        said = (await agent.record(_TALK, session="s1")).added[0]
        note = (await agent.remember("Tickets are kept in the drawer", kind="note")).id
        task = (await agent.tasks.push("Book the ferry", session="s1")).id
        entry = (await agent.blocks.archive("The ferry takes five hours")).id
        scoped, at = germane._open.store.within(agent.scope), datetime.max.replace(tzinfo=UTC)

        async def asked(*ids: str, levels: tuple[Any, ...] = ("private",)) -> int:
            seen.clear()
            await scoped.ask(AllowedIds((note, said, *ids), at, Filters(sensitivities=levels)))
            return sum("json_each" in sql or "FROM blocks" in sql for sql in seen)

        assert await asked() == 1
        assert [await asked(f"{said}@0-4"), await asked("gone@0-4"), await asked("gone@outline")] == [2, 2, 2]
        assert [await asked(f"{task}@1"), await asked(entry)] == [2, 2]
        assert [await asked("gone"), await asked("gone", levels=("public",))] == [5, 4]
        assert await asked("gone@0-4", "gone@outline", f"{task}@1", entry) == 5
