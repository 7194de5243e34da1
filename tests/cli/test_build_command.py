"""`germane build`: the whole request of an agent, for a person and as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from germane import Germane
from germane.cli import main

pytest.importorskip("loro")
pytestmark = pytest.mark.requirement("BUILD-1")

Run = Callable[..., str]
REQUEST = {
    "messages": [{"role": "user", "content": "When do we launch?"}],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
    "system": "Be kind.",
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `germane build` over a store with blocks; `expect` is the exit code. Returns both outputs."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    async def fill() -> None:
        async with Germane.open("germane.db") as germane:
            blocks = germane.agent("default", user="ada").blocks
            await blocks.create("persona", text="I am calm", type="core")
            await blocks.create("plan", text="launch on Friday")

    asyncio.run(fill())
    Path("request.json").write_text(json.dumps(REQUEST))
    Path("rules.json").write_text('[{"kind": "max_calls", "tool": "look", "count": 2}]')
    Path("said.txt").write_text("Be brief.")

    def command(*arguments: str, expect: int = 0, columns: int = 100) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        code = main(["build", "--user", "ada", *arguments])
        out, err = capsys.readouterr()
        assert code == expect, err
        return out + err

    return command


def test_the_whole_request_is_printed(run: Run) -> None:
    """Instructions, blocks, rules and the conversation in their order, then what went in; nothing is too wide."""
    text = run("request.json", "--block", "plan", "--block", "nothing", "--rules", "rules.json", columns=40)
    parts = ("Be kind.", "I am calm", "launch on Friday", "# Tool Execution Rules", "at most 2 times", "When do we launch?")
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "core blocks" in " ".join(text.split())
    assert "block nothing left out: unknown" in " ".join(text.split())
    assert all(len(line) <= 40 for line in text.splitlines() if not line.startswith("<"))


def test_the_arguments_of_the_call_are_printed_as_json(run: Run) -> None:
    """In the shape of the model's provider; options go before what the file has."""
    options = ("--model", "claude-opus-4-8", "--instructions", "said.txt", "--history-tokens", "9000")
    document: Any = json.loads(run("request.json", *options, "--json"))
    assert set(document) == {"provider", "request", "estimated_tokens", "metadata"}
    assert document["provider"] == "anthropic"
    assert [tool["name"] for tool in document["request"]["tools"]] == ["look"]
    assert ("Be brief." in str(document["request"]["system"]), "Be kind." in str(document)) == (True, False)
    assert document["metadata"]["limits"]["history_tokens"] == 9_000
    assert "launch on Friday" not in str(document["request"])
    assert json.loads(run("--query", "When?", "--json"))["request"]["messages"][-1] == {"role": "user", "content": "When?"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["request.json", "--rules", "request.json"], "must be a JSON list"),
        (["request.json", "--rules", "nothing.json"], "nothing.json"),
        (["request.json", "--instructions", "nothing.txt"], "nothing.txt"),
        (["request.json", "--provider", "nothing"], "provider"),
        (["request.json", "--strategy", "nothing"], "nothing"),
        (["request.json", "--deadline", "soon"], "--deadline"),
        (["request.json", "--history-tokens", "0"], "--history-tokens"),
        (["said.txt"], "said.txt"),
    ],
)
def test_what_cant_be_built_says_why(run: Run, arguments: list[str], why: str) -> None:
    """With the exit code of a wrong command."""
    assert why in run(*arguments, expect=2)
