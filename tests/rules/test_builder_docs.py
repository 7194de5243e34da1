"""Builder docs: the code of `docs/use/builder.md` runs as one program, with the official SDK against a strict local server."""

from __future__ import annotations

import re
from typing import Any

import pytest

from germane.tool_rules.value import RULE_KINDS
from germane.types.budget import LARGE, SMALL
from germane_testing.provider import provider_in_thread
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "builder.md").read_text("utf-8")


@pytest.mark.requirement("BUILD-1")
def test_the_pages_code_runs_from_top_to_bottom(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks that the page shows are those of the request."""
    with provider_in_thread(keep_alive=False) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
        names: dict[str, Any] = {"__name__": "builder"}
        run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "builder.md", names)
        assert server.refused == []
        assert len(server.bodies) == 2
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert shown.strip() in names["system"]
    assert "mail/17" in names["system"]
    assert names["step"] == "continue"
    assert "TokensByPart" in capsys.readouterr().out


def test_the_page_lists_every_kind_of_rule() -> None:
    """By the name of its class."""
    rows = "\n".join(re.findall(r"^\| `.*$", PAGE, re.MULTILINE))
    assert [kind.__name__ for kind in RULE_KINDS if f"`{kind.__name__}(" not in rows] == []


def test_the_page_states_the_limits() -> None:
    """Those of large models and of small ones."""
    for name in ("max_tokens", "memory_tokens", "history_tokens", "response_tokens", "max_messages"):
        (row,) = re.findall(rf"^\| `{name}`.*$", PAGE, re.MULTILINE)
        assert row.endswith(f"| {getattr(LARGE, name):,} | {getattr(SMALL, name):,} |")
