"""`germane profile`: the lines that always stand, from a shell (PERSON-1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("PERSON-1")

Run = Callable[..., str]
RULE, KNEE = "From now on keep every answer to five lines tops.", "My left knee is bad since the fall, so no stairs for me."


@pytest.fixture
def ada(run: Run, tmp_path: Path) -> Run:
    """As `run`, for user ada, who said two things in one message and had one remembered."""

    def command(*arguments: str, **given: Any) -> str:
        return run(*arguments, "--user", "ada", **given)

    command("remember", "Answer in French", "--kind", "behavior")
    line = {"session": "s", "role": "user", "content": f"{RULE} {KNEE}"}
    (tmp_path / "said.jsonl").write_text(json.dumps(line), encoding="utf-8")
    command("import", "said.jsonl")
    return command


def listed(ada: Run, *arguments: str) -> Any:
    return json.loads(ada("profile", *arguments, "--json"))


def test_the_lines_are_printed_with_their_reasons(ada: Run) -> None:
    """What stands; with --all what doesn't, and why."""
    out = ada("profile")
    for part in ("Asked for in all answers", "Answer in French", RULE, "About the user", KNEE, "stated on purpose", "3 lines"):
        assert part in out
    assert "another line says it" not in out
    assert "left out: --all shows them" in out
    assert "another line says it" in ada("profile", "--all")
    assert "no room" in ada("profile", "--all", "--tokens", "10")
    assert ada("profile", "--prompt").startswith("<memory")
    assert "no line stands here" in ada("profile", "--tokens", "0")
    assert "no line stands here" in ada("profile", "--at", "2001-01-01")


def test_json_has_every_field(ada: Run) -> None:
    """Left-out lines where they are asked for."""
    found = listed(ada)
    assert [line["text"] for line in found["lines"]] == ["Answer in French", RULE, KNEE]
    assert found["lines"][1].keys() == {
        *("id", "kind", "text", "why", "worth", "said_at", "tokens", "pinned", "memory", "message", "reason")
    }
    assert "left_out" not in found
    assert {line["reason"] for line in listed(ada, "--all", "--tokens", "0")["left_out"]} == {"budget", "duplicate"}


def test_a_line_is_pinned_hidden_and_cleared_by_the_id_that_is_shown(ada: Run) -> None:
    """The list shows as much of an id as the commands need."""
    knee = listed(ada)["lines"][2]["id"]
    below = ada("profile").split(KNEE)[1].split("·")[0].strip()
    assert len(below) < len(knee)
    assert "pinned: " in ada("profile", "pin", below)
    assert "pinned" in ada("profile")
    assert f"hidden: {knee}" in ada("profile", "hide", below)
    assert KNEE not in ada("profile")
    assert "hidden" in ada("profile", "--all")
    assert json.loads(ada("profile", "clear", below, "--json")) == {"id": knee, "mark": None}
    assert KNEE in ada("profile")


def test_it_fits_a_narrow_terminal(ada: Run) -> None:
    """At 40 columns, and nothing stored can control the terminal."""
    ada("remember", "Answer in \u202eGerman on weekends, and in French on all other days", "--kind", "behavior")
    out = ada("profile", "--all", columns=40)
    assert max(map(len, out.splitlines())) <= 40
    assert "\u202e" not in out


def test_mistakes_are_told_in_one_line(ada: Run, run: Run) -> None:
    """What is no line; an option of the list with another command; and a scope that has nothing says which one has."""
    assert "no line 'absent'" in ada("profile", "hide", "absent", expect=1)
    assert "belong to the list" in ada("profile", "--all", "pin", "absent", expect=2)
    assert "germane profile --user ada" in run("profile")
    line = listed(ada)["lines"][0]["id"]
    assert f"germane profile pin {line} --user ada" in run("profile", "pin", line, expect=1)
    assert "--all" in run("profile", "--help", columns=40)
