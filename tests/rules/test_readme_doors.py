"""The README's five doors: each box has at most eight lines and does what it says."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from test_http_docs import sent

from germane.service.local.main import stop
from germane_testing.provider import Reply, provider_in_thread
from support.code_blocks import Block, run
from support.running import serving
from support.source_tree import ROOT

README = (ROOT / "README.md").read_text("utf-8")
SECTION = README.partition("\n## Five doors\n")[2].partition("\n## ")[0]
BOXES = re.findall(r"```(\w+)\n(.*?)```", SECTION, re.DOTALL)
GERMANE = [sys.executable, "-m", "germane.cli"]


def command(line: str, *options: str) -> list[str]:
    """The command of a line as it is run here; `options` come last."""
    name, *words = shlex.split(line, comments=True)
    assert name == "germane", line
    return [*GERMANE, *words, *options]


def test_there_are_five_boxes_of_at_most_eight_lines() -> None:
    assert [kind for kind, _ in BOXES] == ["sh", "sh", "json", "sh", "python"]
    assert max(len([line for line in text.splitlines() if line.strip()]) for _, text in BOXES) <= 8


@pytest.mark.requirement("PROXY-1")
def test_a_base_url(tmp_path: Path) -> None:
    """The command listens where the variable says; in the place of the provider's address stands that of a local one."""
    begin, export = BOXES[0][1].splitlines()
    variable, _, url = export.removeprefix("export ").partition("=")
    with provider_in_thread() as provider:
        started = command(begin, "--port", "0")
        started[started.index("openai")] = f"openai={provider.url}"
        process = subprocess.Popen([*GERMANE, "--json", *started[3:]], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            assert variable == "OPENAI_BASE_URL"
            assert told["upstreams"]["openai"].partition("/proxy")[2] == url.partition("/proxy")[2]
            asked = "responses.create(model='gpt-5.4', input='Hi')"
            call = f"from openai import OpenAI; print(OpenAI(api_key='none').{asked}.output_text)"
            environ = {**os.environ, variable: told["upstreams"]["openai"]}
            said = subprocess.run([sys.executable, "-c", call], env=environ, capture_output=True, text=True, check=True)
            assert said.stdout == "You said: Hi\n"
        finally:
            process.terminate()
            process.communicate()


@pytest.mark.requirement("HOOK-1")
def test_a_coding_agent(tmp_path: Path) -> None:
    """Agreed to (nobody can be asked here), it is there and works; what was there before is there again afterwards."""
    home = tmp_path / "home"
    (home / ".claude").mkdir(parents=True)
    settings = home / ".claude" / "settings.json"
    settings.write_text('{"model": "opus"}\n', "utf-8")
    environ = {**os.environ, "HOME": str(home), "GERMANE_HOME": str(tmp_path / "germane"), "GERMANE_IDLE_SECONDS": "5"}
    install, doctor = BOXES[1][1].splitlines()
    for line, options in ((install, ["--yes"]), (doctor, []), (install.replace("install", "uninstall"), ["--yes"])):
        given: dict[str, Any] = {"env": environ, "cwd": home, "timeout": 120}
        done = subprocess.run(command(line, *options), capture_output=True, text=True, check=False, **given)
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        assert ("germane" in settings.read_text("utf-8")) == ("uninstall" not in line)
    assert settings.read_text("utf-8") == '{"model": "opus"}\n'
    assert stop(environ["GERMANE_HOME"])


@pytest.mark.requirement("MCP-1")
async def test_an_mcp_client(tmp_path: Path) -> None:
    entry = json.loads(BOXES[2][1])["mcpServers"]["germane"]
    assert entry["command"] == "germane"
    place = entry["args"][entry["args"].index("--db") + 1]
    words = [word.replace(place, str(tmp_path / "g.db")) for word in entry["args"]]
    server = StdioServerParameters(command=GERMANE[0], args=[*GERMANE[1:], *words], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        assert len((await client.list_tools()).tools) == 5


@pytest.mark.requirement("HTTP-1")
def test_http(tmp_path: Path) -> None:
    """What was recorded is in the messages that come back."""
    begin, *rest = BOXES[3][1].splitlines()
    assert begin == "germane serve"
    record, assemble = re.split(r"\n(?=curl)", "\n".join(rest))
    with serving(tmp_path / "germane.db", GERMANE_SERVE_DEADLINE_MS="30000") as service:
        assert sent(service.http, record)[0] == 200
        status, found = sent(service.http, assemble)
        assert (status, "I am vegetarian" in json.dumps(found["messages"])) == (200, True)
        assert service.stop() == 0


@pytest.mark.requirement("ADAPT-1")
def test_an_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "readme"}
    with provider_in_thread() as provider:
        provider.script.append(Reply("The lentils."))
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        run(Block(1, BOXES[4][1]), "README.md", names)
        names["client"].close()
        assert names["reply"].content[0].text == "The lentils."
        assert provider.refused == []
