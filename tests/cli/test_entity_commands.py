"""`germane entity`: add, list, show, relate, walk, merge and forget from a shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

Run = Callable[..., str]


@pytest.fixture
def run(run: Run) -> Run:
    """As `run`, for `germane entity`."""
    return partial(run, "entity")


def test_a_graph_is_kept_from_a_shell(run: Run) -> None:
    """Each command prints what it did, and its JSON where that is asked for."""

    def parsed(*arguments: str) -> Any:
        return json.loads(run(*arguments, "--json"))

    mel = parsed("add", "person", "Mel", "--alias", "Melanie", "--set", "city=Faro")
    assert (mel["entity_type"], mel["properties"]) == ("person", {"city": "Faro"})
    assert "organisation Acme" in run("add", "organisation", "Acme")
    relation = parsed("relate", "melanie", "works_at", "Acme", "--since", "2024-01-01")
    assert "Mel --[works_at]--> Acme since 2024-01-01" in run("show", "Mel")
    assert parsed("show", "Mel", "--at", "2020-01-01")["relations"] == []
    assert [one["name"] for one in parsed("list", "m")["entities"]] == ["Mel"]
    assert "Acme" in run("traverse", "Mel", "--depth", "1")
    assert [one["depth"] for one in parsed("traverse", "Mel")["entities"]] == [0, 1]
    assert parsed("path", "Acme", "Mel")["path"][0]["backwards"] is True
    assert "until 2025-01-01" in run("unrelate", relation["id"], "--at", "2025-01-01")
    other = parsed("add", "person", "M. Silva")
    assert "also Melanie, M. Silva" in run("merge", "Mel", other["id"])
    assert "no path" not in run("path", "Mel", "Acme")
    assert run("forget", mel["id"], "--dry-run") == "would forget 1\n"
    assert run("forget", mel["id"]) == "forgot 1\n"
    assert "no entity" in run("show", "Mel", expect=1)
    assert "no entities here" in run("list", "mel")


def test_what_is_printed_fits_a_narrow_terminal(run: Run) -> None:
    """Rows are stacked at 40 columns, and nothing stored can control the terminal."""
    run("add", "person", "Somebody with a rather long name \u202e", "--set", "note=\u202ered")
    for command in (("list",), ("traverse", "somebody with a rather long name \u202e")):
        out = run(*command, columns=40)
        assert max(map(len, out.splitlines())) <= 40
        assert "\u202e" not in out
    assert "\u202e" not in run("show", "somebody with a rather long name \u202e", columns=40)


def test_mistakes_are_told_in_one_line(run: Run) -> None:
    """An ambiguous name with the ids."""
    run("add", "person", "Anna")
    run("add", "place", "Anna")
    assert "is the name of 2 entities" in run("show", "Anna", expect=2)
    assert "KEY=VALUE" in run("add", "person", "X", "--set", "y", expect=2)
