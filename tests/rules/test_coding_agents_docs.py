"""docs/use/coding-agents.md: it names every client, with the files that are changed, and every file of the service's folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane.service.clients.entries import AGENTS, Where
from germane.service.hooks.answers import _TOKENS
from germane.service.hooks.events import CLIENTS, MAX_CHARACTERS
from germane.service.local.caller import LOG, STATE, ServiceState
from germane.service.local.main import IDLE_SECONDS
from germane.service.local.service import DATABASE, SETTINGS
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HOOK-1", "HOOK-2")
PAGE = (ROOT / "docs" / "use" / "coding-agents.md").read_text("utf-8")


@pytest.mark.parametrize("client", list(AGENTS))
def test_the_table_has_each_client_with_its_files(client: str) -> None:
    """And whether it has hooks."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{client}` |"))
    where = Where(home=Path("/home/me"), project=Path("/project"), environment={})
    for file in AGENTS[client].files(where, ServiceState({}), "command"):
        name = str(file.path).replace("/home/me", "~").replace("/project/", "")
        assert f"`{name}`" in row
    assert row.split("|")[2].strip().startswith("yes") == AGENTS[client].hooked == (client in CLIENTS)


def test_the_page_has_the_figures_and_files_of_the_code() -> None:
    """The tokens, the characters, the idle time, the files."""
    assert f"at most {_TOKENS[0]:,} tokens" in PAGE
    assert f"{MAX_CHARACTERS:,} characters" in PAGE
    assert f"({IDLE_SECONDS:,.0f})" in PAGE
    for name in (DATABASE, SETTINGS, STATE, LOG):
        assert re.search(rf"^\| `{re.escape(name)}` \|", PAGE, re.MULTILINE)
