"""The options of `assemble` and `explain` that describe the model, the system prompt and the effort."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main

ASKED = [{"role": "user", "content": "Which city?"}]


@pytest.fixture(autouse=True)
def a_store_with_a_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["remember", "Lives in Vienna", "--json"]) == 0
    capsys.readouterr()


def assembled(capsys: pytest.CaptureFixture[str], *options: str) -> Any:
    assert main(["assemble", "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.requirement("CLI-1", "INJECT-7")
def test_the_system_prompt_of_the_option_or_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The option is used before the file's own."""
    blocks = [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}]
    Path("request.json").write_text(json.dumps({"messages": ASKED, "system": blocks}))
    claude = ("request.json", "--model", "claude-sonnet-4-5")
    assert assembled(capsys, *claude)["system"][0] == blocks[0]
    said = assembled(capsys, *claude, "--system", "Be brief.")["system"]
    assert said.endswith("Be brief.")
    assert "Be kind." not in said


@pytest.mark.requirement("CLI-1", "BUD-1a", "AMOUNT-2")
def test_a_described_model_is_not_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    """`warnings` of the document are those of the metadata."""
    query = ("--query", "Which city?", "--model", "deployment-9")
    unknown = assembled(capsys, *query)
    assert unknown["warnings"] == unknown["metadata"]["warnings"] != []
    known = assembled(capsys, *query, "--like", "claude-sonnet-4-5", "--window", "32000", "--effort", "high")
    assert (known["warnings"], known["provider"]) == ([], "anthropic")
    assert main(["explain", *query, "--like", "gpt-4.1", "--effort", "2.5"]) == 0
    assert "warning" not in capsys.readouterr().out


@pytest.mark.requirement("CLI-1", "ENGINE-10")
def test_a_deadline_is_given_in_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """The store is warm by then, as in an application."""
    report = assembled(capsys, "--query", "Which city?", "--deadline", "30", "--strategy", "compact")
    assert (report["metadata"]["degradation_level"], report["metadata"]["memories_injected"]) == (0, 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--effort", "huge"], "effort must be low"),
        (["--like", "gtp-4"], "did you mean"),
        (["--window", "0"], "window"),
        (["--deadline", "48"], "--deadline is in seconds, at most 60, not 48: did you mean 0.048?"),
        (["--deadline", "0"], "--deadline must be above 0 seconds and at most 60, not 0"),
        (["--deadline=-1"], "--deadline must be above 0"),
        (["--deadline", "nan"], "--deadline must be above 0"),
        (["--deadline", "250ms"], "--deadline is in seconds, such as 0.25"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    """Exit code 2, one line."""
    assert main(["assemble", "--query", "Which city?", *options]) == 2
    assert said in capsys.readouterr().err
