"""docs/use/mcp.md: the entries for clients can be read, and start the command; the page names what the server offers."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client

from germane import Agent, Germane
from germane.cli import main
from germane.integrations.mcp_server import calls_of, memory_server
from germane.service.http.mcp import agent_in
from germane.service.http.routes import query_of, scope_of
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("MCP-1")

PAGE = (ROOT / "docs" / "use" / "mcp.md").read_text("utf-8")


def entries() -> list[dict[str, Any]]:
    shown = re.findall(r"```(json|toml)\n(.*?)```", PAGE, re.DOTALL)
    read = [json.loads(text)["mcpServers"] if kind == "json" else tomllib.loads(text)["mcp_servers"] for kind, text in shown]
    return [servers["germane"] for servers in read]


def test_the_entry_over_http_is_a_url_of_the_port() -> None:
    """Its path has an agent, its query a user."""
    url = urlsplit(entries()[-1]["url"])
    assert agent_in(url.path.encode()) == "coding"
    assert scope_of(query_of(url.query.encode()), keyless=False) == {"user": "caroline"}


def test_the_entries_start_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Each is the same command, whose options there are."""
    first, second, _ = entries()
    assert first == second
    assert first["command"] == "germane"
    assert main([*first["args"], "--help"]) == 0
    assert "germane mcp" in capsys.readouterr().out


async def test_the_page_names_what_the_server_offers(germane: Germane, agent: Agent) -> None:
    """All tools, in their order, resources and prompts."""
    async with Client(memory_server(calls_of(germane, agent))) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        resources = [str(one.uri) for one in (await client.list_resources()).resources]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        prompts = [one.name for one in (await client.list_prompts()).prompts]
    assert re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE) == tools
    assert [name for name in (*resources, *templates, *prompts) if f"`{name}`" not in PAGE] == []
