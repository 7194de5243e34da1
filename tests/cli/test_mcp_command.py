"""`germane mcp`: the command as a client starts it, a store that can't be opened, and the store of a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from germane import Agent, Germane, StoreUnavailable
from germane.cli.commands.mcp import OpenedLate, opened
from germane.cli.options import GlobalOptions
from germane.integrations.mcp_server import Call, calls_of, memory_server
from germane.sync import Germane as BlockingGermane
from support.served_file import served_file

pytestmark = pytest.mark.requirement("MCP-1")
ASKS = """\
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, \
"clientInfo": {"name": "c", "version": "1"}}}
{"jsonrpc": "2.0", "method": "notifications/initialized"}
{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "Where is Rex?"}}}
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "germane.cli", "mcp", *arguments]


async def called(client: Client, tool: str, *, fails: bool = False, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert bool(result.is_error) == fails, result
    return str(result.content[0].model_dump()["text"])


async def test_a_client_starts_the_command_and_talks_to_it(tmp_path: Path) -> None:
    """The real command as a process: what one user's agent remembers, another's doesn't find; the file is made."""
    db = tmp_path / "new.db"
    said = command("--db", str(db), "--agent", "coder", "--user", "caroline", "--org", "acme")
    server = StdioServerParameters(command=said[0], args=said[1:], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        id = (await called(client, "remember", text="Rex is a dog and lives in Porto")).split()[-1]
        assert "lives in Porto" in await called(client, "recall", query="Where does Rex live?")
        assert "nothing was forgotten yet" in await called(client, "forget", ids=[id])
    with BlockingGermane.open(db) as germane:
        assert germane.agent("coder", org="acme", user="caroline").find(id).text == "Rex is a dog and lives in Porto"
        assert germane.agent("coder", org="acme", user="bob").stats().memories == {}


def test_nothing_but_the_protocol_is_written_to_stdout(tmp_path: Path) -> None:
    """Each line of stdout is a message, also where a line of stdin isn't one and where the store can't be opened. The end of
    stdin ends the command."""
    (tmp_path / "broken.db").write_bytes(b"no database" * 1_000)
    started = subprocess.Popen(
        command("--db", str(tmp_path / "broken.db"), "--user", "u"), stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    )
    with started as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(f"no JSON\n{ASKS}")
        process.stdin.flush()
        first, second = (json.loads(process.stdout.readline()) for _ in range(2))
        process.stdin.close()
        assert process.stdout.read() == ""
        assert "Traceback" not in process.stderr.read()
        assert process.wait(60) == 0
    assert first["result"]["serverInfo"]["name"] == "germane"
    assert second["result"]["isError"]
    assert "broken.db" in second["result"]["content"][0]["text"]


async def test_a_store_that_opens_later_is_used_then(agent: Agent, germane: Germane) -> None:
    """It is tried at once, and by each call again; a call that waits gets the store once it is open; it is closed once."""
    tries: list[str] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Call]:
        tries.append("opened")
        if len(tries) < 4:
            raise StoreUnavailable("no directory for the database")
        yield calls_of(germane, agent)
        tries.append("closed")

    async with OpenedLate(opening) as call, Client(memory_server(call)) as client:
        assert "no directory" in await called(client, "recall", fails=True, query="Rex")
        assert "no directory" in await called(client, "recall", fails=True, query="Rex")
        assert await called(client, "recall", query="Rex") == "nothing is known"
        assert await called(client, "recall", query="Rex") == "nothing is known"
    assert tries == ["opened"] * 4 + ["closed"]


async def test_the_end_doesnt_open_a_store_again(agent: Agent, germane: Germane) -> None:
    """Where the store couldn't be opened, nothing is tried when the client goes."""
    tries: list[str] = []

    @asynccontextmanager
    async def opening() -> AsyncIterator[Call]:
        tries.append("opened")
        if tries:
            raise StoreUnavailable("no directory for the database")
        yield calls_of(germane, agent)

    async with OpenedLate(opening) as call:
        with pytest.raises(StoreUnavailable):
            await call("directive")
    assert tries == ["opened"]


async def test_a_directory_that_is_missing_is_an_error_of_the_tool(tmp_path: Path) -> None:
    """It is told what to do, and nothing raises at the end."""
    options = GlobalOptions(db=tmp_path / "none" / "a.db", user="u")
    async with OpenedLate(lambda: opened(options)) as call, Client(memory_server(call)) as client:
        assert "create it first" in await called(client, "remember", fails=True, text="Rex")


async def test_the_tools_work_over_a_server(tmp_path: Path) -> None:
    """With --server the same tools use the service's store."""
    with served_file(tmp_path / "a.db") as address:
        options = GlobalOptions(db=tmp_path / "other.db", server=address, user="caroline")
        async with OpenedLate(lambda: opened(options)) as call, Client(memory_server(call)) as client:
            id = (await called(client, "remember", text="Porto", kind="fact", key="home of Rex")).split()[-1]
            assert "Porto" in await called(client, "recall", query="What is the home of Rex?")
            assert "Porto" in await called(client, "open", id=id)
            assert "Porto" in await called(client, "forget", ids=[id])
            assert await called(client, "feedback", ids=[id]) == "counted for 1 memories"
            assert "no memory" in await called(client, "open", fails=True, id="0" * 36)
            await client.read_resource("germane://directive")
            await client.read_resource("germane://profile")
