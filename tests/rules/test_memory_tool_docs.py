"""Memory tool: the blocks of `docs/use/memory-tool.md` run one after the other, with the official SDKs against a strict local
server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.code_blocks import blocks, run
from support.source_tree import ROOT
from support.strict_provider import SAID, StrictProvider, strict_provider

PAGE = (ROOT / "docs" / "use" / "memory-tool.md").read_text("utf-8")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictProvider]:
    with strict_provider() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
        for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
            monkeypatch.setenv(name, "key")
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
        yield server


@pytest.mark.requirement("BLK-8")
def test_the_page_runs_as_it_stands(server: StrictProvider, capsys: pytest.CaptureFixture[str]) -> None:
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
    asked = [body for _, body in server.taken]
    assert len(asked) == 4
    for body in asked[1::2]:
        assert "Likes e-mail\\n     2\\tLives in Leeds" in str(body["messages"][-1])
