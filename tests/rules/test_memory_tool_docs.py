"""Memory tool: the blocks of `docs/use/memory-tool.md` run one after the other, with the official SDKs against a strict local
server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from germane_testing.provider import Asked, LocalProvider, Reply, ToolCall, provider_in_thread
from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "memory-tool.md").read_text("utf-8")

SAID = "By e-mail."


def rule(asked: Asked) -> Reply:
    """Looks at a file, and says something when it has seen it."""
    if asked.has_results:
        return Reply(SAID)
    return Reply(ToolCall("memory", {"command": "view", "path": "/memories/system/user.md"}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=rule) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "key")
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
        yield server


@pytest.mark.requirement("BLK-8")
def test_the_page_runs_as_it_stands(server: LocalProvider, capsys: pytest.CaptureFixture[str]) -> None:
    """What the tool answers goes to the provider as a tool's result."""
    names: dict[str, Any] = {"__name__": "memory-tool"}
    clients: list[Any] = []
    try:
        for block in blocks(PAGE):
            run(block, "memory-tool.md", names)
            clients += [names["client"]] if names.get("client") not in (None, *clients) else []
    finally:
        names["germane"].close()
        for client in clients:
            client.close()
    said = capsys.readouterr().out
    assert "13B\t/memories/system/user.md" in said
    assert "[content_sha256: " in said
    assert "True /memories/system/user.md has changed since it was read" in said
    assert "0 create helper (planner) she said so" in said
    assert SAID in said
    assert server.refused == []
    asked = server.bodies
    assert len(asked) == 4
    for body in asked[1::2]:
        assert "Likes e-mail\\n     2\\tLives in Leeds" in str(body["messages"][-1])
