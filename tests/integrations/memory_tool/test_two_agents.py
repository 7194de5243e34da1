"""Two conversations that edit one file from the same reading: nothing is lost, and a precondition tells the second one."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest
from bench.memory_tool import interleaved

from germane import Germane
from germane.integrations.memory_tool.tool import memory_tool


@pytest.mark.requirement("BLK-8")
@pytest.mark.parametrize("guarded", [False, True])
async def test_two_edits_from_one_reading_are_both_there_or_the_second_is_told(guarded: bool) -> None:
    """In random order, overlapping or not; `python -m bench memory_tool` tries 10,000 pairs."""
    chance = random.Random(3)
    async with Germane.open(":memory:", embedder=None) as germane:
        found = [await interleaved(germane.agent("one"), chance, f"f{number}", guarded=guarded) for number in range(60)]
    assert [problem for problem in found if problem] == []


@pytest.mark.requirement("BLK-8")
async def test_edits_at_the_same_time_through_two_stores_are_all_there(tmp_path: Path) -> None:
    """As two processes have it: each waits for nobody, and an edit that another one has overtaken is decided anew."""
    path = "/memories/shared.md"
    async with (
        Germane.open(tmp_path / "a.db", embedder=None) as one,
        Germane.open(tmp_path / "a.db", embedder=None) as two,
    ):
        tools = [memory_tool(opened.agent("team")) for opened in (one, two)]
        await tools[0]({"command": "create", "path": path, "file_text": "end\n"})
        commands = [
            tools[number % 2]({"command": "insert", "path": path, "insert_line": 0, "insert_text": f"line {number}"})
            for number in range(12)
        ]
        answers = await asyncio.gather(*commands)
        text = (await two.agent("team").blocks.get("shared.md")).text
        made = [number for number, answer in enumerate(answers) if "has been edited" in answer]
        assert sorted(text.splitlines()) == sorted(["end", *(f"line {number}" for number in made)])
        assert len(made) >= 4
        assert all("has been edited" in answer or "others are changing" in answer for answer in answers)


@pytest.mark.requirement("BLK-8")
async def test_of_two_that_create_one_file_the_second_is_told() -> None:
    """It never overwrites."""
    async with Germane.open(":memory:", embedder=None) as germane:
        agent = germane.agent("team")
        create = {"command": "create", "path": "/memories/plan.md"}
        answers = await asyncio.gather(*(memory_tool(agent).answer({**create, "file_text": text}) for text in ("one", "two")))
        assert sorted(answer.is_error for answer in answers) == [False, True]
        assert [answer.text for answer in answers if answer.is_error] == ["File /memories/plan.md already exists"]
