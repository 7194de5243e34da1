"""Conversations docs: the code of `docs/use/conversations.md` runs as one program, and the page names every field and
strategy."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from germane.compaction.plan import Compaction
from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "conversations.md").read_text("utf-8")


@pytest.mark.requirement("HIST-5")
def test_the_pages_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page asserts what it says. A function is in the place of a language model, which the page allows."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(block.code for block in blocks(PAGE))
    assert code.count('"openai:gpt-4o-mini"') == 1

    async def answer(prompt: str) -> str:
        return "{}"

    names: dict[str, Any] = {"__name__": "conversations", "answer": answer}
    run(Block(1, code.replace('"openai:gpt-4o-mini"', "answer") + "\nawait germane.close()"), "conversations.md", names)
    assert names["context"].metadata.history
    assert names["written"].fits


def test_the_page_names_every_field_and_strategy() -> None:
    """With the defaults of the strategies."""
    results = PAGE[PAGE.index("## Results") : PAGE.index("## With a store")]
    assert [field.name for field in fields(Compaction) if field.name != "provider" and f"`{field.name}`" not in results] == []
    assert f"`Truncate(keep_recent={Truncate().keep_recent})`" in PAGE
    assert f"`Importance(keep_recent={Importance().keep_recent}, keep_important={Importance().keep_important})`" in PAGE
    assert f"`TimeDecay(half_life={TimeDecay().half_life:g})`" in PAGE
    assert f"`summary_tokens` ({Summarise().summary_tokens:,})" in PAGE
    assert f"`keep_outputs` ({Summarise().keep_outputs})" in PAGE
