"""Stored tasks: forgetting and its receipts, tombstones, exports that come back as they were, the doctor and the counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from germane import Agent, Germane

S = "work"


async def filled(agent: Agent) -> dict[str, str]:
    ids = {"root": (await agent.tasks.push("Ship the zebra release", session=S)).id}
    ids["fix"] = (await agent.tasks.push("Fix the okapi test", session=S)).id
    ids["read"] = (await agent.tasks.push("Read the gibbon log", session=S)).id
    await agent.tasks.pop("The gibbon is late", session=S, artifacts=[(ids["root"], "the root")])
    await agent.tasks.checkpoint("here", session=S)
    ids["try"] = (await agent.tasks.branch("try", "Try a tapir", session=S)).id
    await agent.tasks.switch("main", session=S)
    return ids


def raw(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name))


@pytest.mark.requirement("TASK-1", "MEM-3")
async def test_a_forgotten_task_goes_with_all_below_it_from_every_file(tmp_path: Path) -> None:
    """The stack stands at what is left above it; pointers to it, checkpoints and branches at it hold nothing of it."""
    path = tmp_path / "store.db"
    async with Germane.open(path, warm=False) as germane:
        agent = germane.agent("coder", user="ada")
        ids = await filled(agent)
        assert set((await agent.forget([ids["fix"]], dry_run=True)).task_ids) == {ids["fix"], ids["read"], ids["try"]}
        receipt = await agent.forget([ids["fix"]])
        assert receipt.scrubbed
        assert "tasks" in receipt.checked
        assert [frame.id for frame in await agent.tasks.path(S)] == [ids["root"]]
        assert (await germane.check()).healthy
        assert (await germane.verify(full=True)).healthy
    content = raw(path)
    assert b"zebra" in content
    assert not any(word in content for word in (b"okapi", b"gibbon", b"tapir"))


@pytest.mark.requirement("TASK-1", "MEM-3")
@pytest.mark.parametrize("how", ["session", "everything"])
async def test_forgetting_a_session_or_everything_leaves_no_task(tmp_path: Path, how: str) -> None:
    """Nor the session's name, its branches and its checkpoints."""
    path = tmp_path / "store.db"
    async with Germane.open(path, warm=False) as germane:
        agent = germane.agent("coder", user="ada")
        await agent.tasks.push("stays", session="another")
        await filled(agent)
        receipt = await (agent.forget(session=S) if how == "session" else agent.forget(everything=True))
        assert len(receipt.task_ids) == (4 if how == "session" else 5)
        assert await agent.tasks.list(S) == ()
        assert await agent.tasks.branches(S) == ()
        assert len(await agent.tasks.list("another")) == (1 if how == "session" else 0)
        assert (await germane.verify(full=True)).healthy
    assert not any(word in raw(path) for word in (b"zebra", b"okapi", b"tapir"))


@pytest.mark.requirement("TASK-1", "MEM-3")
async def test_an_export_brings_the_stack_back_as_it_was() -> None:
    """Restoring again stores nothing; what was forgotten there, or here, isn't brought back."""
    async with Germane.open(":memory:", warm=False) as one, Germane.open(":memory:", warm=False) as two:
        agent, copy = one.agent("coder", user="ada"), two.agent("coder", user="ada")
        ids = await filled(agent)
        lines = [line async for line in agent.export()]
        restored = await copy.restore(lines)
        assert (restored.tasks, restored.task_stacks) == (4, 1)
        assert await copy.tasks.list() == await agent.tasks.list()
        assert await copy.tasks.path(S) == await agent.tasks.path(S)
        assert await copy.tasks.branches(S) == await agent.tasks.branches(S)
        assert [line async for line in copy.export()] == lines
        again = await copy.restore(lines)
        assert (again.tasks, again.task_stacks, again.known) == (0, 0, 5)
        await copy.forget([ids["fix"]])
        third = await copy.restore(lines)
        assert (third.tasks, third.forgotten) == (0, 3)
        assert [frame.id for frame in await copy.tasks.path(S)] == [ids["root"]]


@pytest.mark.requirement("TASK-1", "MEM-3")
async def test_a_task_that_lives_here_isnt_forgotten_by_an_import() -> None:
    """A tombstone of the file whose task is stored here is told, and removes nothing."""
    async with Germane.open(":memory:", warm=False) as one, Germane.open(":memory:", warm=False) as two:
        agent, copy = one.agent("coder", user="ada"), two.agent("coder", user="ada")
        ids = await filled(agent)
        await copy.restore([line async for line in agent.export()])
        before = await copy.tasks.list()
        await agent.forget([ids["fix"]])
        lines = [line async for line in agent.export()]
        stones = [number for number, line in enumerate(lines, 1) if line["type"] == "tombstone"]
        assert (await copy.restore(lines, skip_conflicts=True)).conflicts == stones
        assert await copy.tasks.list() == before


@pytest.mark.requirement("TASK-1")
async def test_tasks_are_counted_and_their_owner_is_known() -> None:
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent("coder", user="ada")
        await filled(agent)
        stats = await agent.stats()
        assert stats.tasks == 4
        assert stats.text_bytes > 50
        assert [one.user for one in (await germane.agent("coder").users()).users] == ["ada"]
