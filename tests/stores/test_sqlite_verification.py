"""Verification: doctor tells where content isn't what was stored, and says nothing of a sound store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from germane import Agent, Germane
from germane.kinds.conversations.reads import PutArchived
from germane.stores.contract import Checkup
from germane_testing.builders import an_archived, writing

LONG = "The harbour of Leith was built in the fourteenth century. " * 200


async def lived(agent: Agent) -> None:
    """Everything that makes a stored text differ from what was sent."""
    await agent.record(
        [
            {"role": "user", "content": "I went to Lisbon \ud800 with \u1e9b\u0323"},
            {"role": "assistant", "content": LONG},
            {"role": "user", "content": "my key is AKIAIOSFODNN7EXAMPLE, keep it"},
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}}]},
        ],
        session="s",
    )
    for content in ("ls -l", {"command": "deploy", "exit": 1}, "export KEY=AKIAIOSFODNN7EXAMPLE", "broken \ud800"):
        await agent.events.record("shell_exec", content, session="s", outcome="ok")
    await agent.events.record("shell_exec", "ls", session="s", outcome="token ghp_16C7e42F292c6912E7710c838347Ae178B4a")
    await agent.documents.ingest(text=f"# Leith\n\n{LONG}", source="/guide.md")
    await agent._scoped(agent.scope).commit(writing(PutArchived(an_archived("Built in Leith", session="s"))))
    for text in ("The staging database is reset every night", "The staging database is reset every night!"):
        await agent.remember(text, tags=["Ops", "db"])
    fact = await agent.remember(kind="fact", key="home", value={"city": "Leith", "since": [2019]})
    await agent.remember("token ghp_16C7e42F292c6912E7710c838347Ae178B4a", kind="episode", derived_from=[fact.id])
    note = await agent.remember("To be forgotten", derived_from=[fact.id])
    await agent.memories.update(fact.id, value="Oslo")
    await agent.forget([note.id])


def unwell(checkup: Checkup) -> dict[str, str]:
    return {name: said for name, said, fine in checkup.findings if not fine}


async def test_a_sound_store_is_sound(tmp_path: Path) -> None:
    """Long texts, redacted secrets, broken characters, tags and JSON values; progress reaches the end."""
    steps = list[tuple[int, int]]()
    async with Germane.open(tmp_path / "a.db", warm=False) as germane:
        await lived(germane.agent(user="caroline"))
        for full in (False, True):
            found = await germane.verify(full=full, progress=lambda done, total: steps.append((done, total)))
            assert unwell(found) == {}
        assert {name for name, _, _ in found.findings} == {"checksums", "search rows", "blocks", "archive", "orphans"}
    assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize(
    ("damage", "names"),
    [
        ("UPDATE events SET text = replace(text, 'Leith', 'Oslo!') WHERE text LIKE '%harbour%'", {"checksums", "search rows"}),
        ("UPDATE events SET text = replace(text, 'deploy', 'delete') WHERE position < 0", {"checksums", "search rows"}),
        ("UPDATE events SET outcome = 'fine' WHERE outcome = 'ok'", {"checksums"}),
        ("UPDATE memories SET content = replace(content, 'night', 'month')", {"checksums", "search rows"}),
        ("UPDATE units_memories SET terms = x'01020304'", {"search rows"}),
        ("DELETE FROM units_parts", {"search rows", "orphans"}),
        ("DELETE FROM memories", {"orphans"}),
        ("UPDATE history_archive SET messages = replace(messages, 'Leith', 'Oslo!')", {"archive"}),
        ("UPDATE history_archive SET messages = '['", {"archive"}),
        ("DELETE FROM history_outlines", {"orphans"}),
        ("PRAGMA foreign_keys = off; INSERT INTO telling_clauses VALUES (999, 0, 1, 1, 0.5, 0.5)", {"orphans"}),
        ("INSERT INTO profile_marks SELECT min(id), 'x@0-1', 'x', 'pin', 0 FROM partitions", {"orphans"}),
        ("UPDATE history_outlines SET last = last + 1000", {"orphans"}),
        ("INSERT INTO links VALUES ('x', 1, 'conflict', 998, 999, '', NULL, 0, NULL, NULL)", {"orphans"}),
        ("PRAGMA foreign_keys = off; INSERT INTO derivations VALUES ('x', 'y', 1)", {"orphans"}),
    ],
)
async def test_what_was_changed_behind_its_back_is_told(tmp_path: Path, damage: str, names: set[str]) -> None:
    """With numbers and without content."""
    async with Germane.open(tmp_path / "a.db", warm=False) as germane:
        await lived(germane.agent(user="caroline"))
    with closing(apsw.Connection(str(tmp_path / "a.db"))) as connection:
        connection.execute(damage)
    async with Germane.open(tmp_path / "a.db", warm=False) as germane:
        found = unwell(await germane.verify())
    assert set(found) == names
    assert not any(word in said for said in found.values() for word in ("Leith", "staging", "Oslo"))
