"""Frameworks: the blocks of `docs/use/frameworks.md` run one after the other, with the real packages against a strict local
server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import support.llamaindex_llm
from germane.integrations.memory_calls import MemoryCalls
from germane_testing.provider import LocalProvider, calls_tools, provider_in_thread
from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "frameworks.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loaded machine may take longer than the adapters' own deadline."""
    defaults = MemoryCalls.__init__.__kwdefaults__ or {}
    monkeypatch.setattr(MemoryCalls.__init__, "__kwdefaults__", {**defaults, "deadline": 20.0})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=calls_tools("By e-mail.", parallel=2, each_turn=True)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
        monkeypatch.setitem(sys.modules, "llama_index.llms.openai", support.llamaindex_llm)
        monkeypatch.chdir(tmp_path)
        yield server


@pytest.mark.requirement("ADAPT-1", "HIST-4")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # LlamaIndex uses of itself and of pydantic what is deprecated
def test_the_page_runs_as_it_stands(server: LocalProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """No request is refused, none is longer than the budget, and the histories stay whole where the page says so."""
    names: dict[str, Any] = {"__name__": "frameworks"}
    for block in blocks(PAGE):
        run(block, "frameworks.md", names)
    said = capsys.readouterr().out
    assert "60 messages in the checkpoint" in said
    assert "48 messages in the run's history" in said
    assert "96 items in the session" in said
    assert server.refused == []
    asked = [body for body in server.bodies if "Can I eat a peanut bar?" in str(body)]
    assert len(asked) == 8
    assert all("eat peanuts." in str(body) for body in asked)
    monday, friday, sunday = server.bodies[-3:]
    assert "allergic" not in str(friday["messages"][-1]["content"][-1])
    assert all("allergic to lilies." in str(body["messages"]) for body in (monday, friday, sunday))
    assert max(len(str(body.get("messages") or body["input"])) for body in server.bodies) < 4_000 * 6
