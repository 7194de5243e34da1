"""History docs: the code of `docs/use/history.md` runs as one program, and the page names every field and strategy."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from germane import Germane
from germane.compaction.plan import Compaction
from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
from support.code_blocks import Block, blocks, run
from support.long_talk import in_shape, long_talk
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "history.md").read_text("utf-8")


@pytest.mark.requirement("HIST-5")
def test_the_pages_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page asserts what it says."""
    monkeypatch.chdir(tmp_path)
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "history.md", {"__name__": "history"})


async def _kept(code: str, messages: list[dict[str, Any]], client: Any) -> None:
    """Runs the code of the page about stored conversations, with an agent, a conversation and a provider's client."""
    async with Germane.open(":memory:") as germane:
        agent = germane.agent("support", user="caroline")
        await agent.record(messages, session="s1")
        names: dict[str, Any] = {"agent": agent, "messages": messages, "client": client}
        compiled = compile(code, "history-store.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        await eval(compiled, names)
        assert names["whole"]
        assert names["earlier"]
        assert names["context"].metadata.history


@pytest.mark.requirement("HIST-5")
def test_the_code_about_stored_conversations_runs() -> None:
    """With a conversation that is too long, and a client that is told what was sent."""
    sent = list[Any]()
    client = SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=lambda **body: sent.append(body))))
    page = (ROOT / "docs" / "use" / "history-store.md").read_text("utf-8")
    code = "\n".join(block.code for block in blocks(page))
    asyncio.run(_kept(code, in_shape(long_talk(60, words=400), "openai"), client))
    assert sent[0]["messages"]


def test_the_code_about_a_language_models_summaries_runs() -> None:
    """With a function in the place of a provider, which the page allows."""
    page = (ROOT / "docs" / "use" / "history-llm.md").read_text("utf-8")
    (block,) = blocks(page)
    code = block.code.replace('"openai:gpt-4o-mini"', "answer")
    assert code != block.code

    async def answer(prompt: str) -> str:
        return "{}"

    names: dict[str, Any] = {"messages": in_shape(long_talk(3), "openai"), "answer": answer}
    run(Block(block.line, code), "history-llm.md", names)
    assert names["compaction"].fits


def test_the_page_names_every_field_and_strategy() -> None:
    """With the defaults of the strategies."""
    results = PAGE[PAGE.index("## Results") :]
    assert [field.name for field in fields(Compaction) if field.name != "provider" and f"`{field.name}`" not in results] == []
    assert f"`Truncate(keep_recent={Truncate().keep_recent})`" in PAGE
    assert f"`Importance(keep_recent={Importance().keep_recent}, keep_important={Importance().keep_important})`" in PAGE
    assert f"`TimeDecay(half_life={TimeDecay().half_life:g})`" in PAGE
    assert f"`summary_tokens` ({Summarise().summary_tokens:,})" in PAGE
    assert f"`keep_outputs` ({Summarise().keep_outputs})" in PAGE
