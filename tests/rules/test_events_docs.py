"""Events docs: the code of `docs/use/events.md` runs as one program, and its settings load."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from germane.extraction.archetypes.registry import BUILT_IN, Archetypes
from germane.kinds.events.wording import action_of
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "events.md").read_text("utf-8")


def test_the_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another."""
    monkeypatch.chdir(tmp_path)
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "events.md", {"__name__": "events"})


def test_the_settings_are_read() -> None:
    """The table makes an archetype."""
    tables = tomllib.loads(PAGE.partition("```toml")[2].partition("```")[0])
    assert Archetypes(tables["archetypes"]).find(tables["germane"]["archetype"]).depth == 1


def test_the_tables_state_the_archetypes() -> None:
    """Weights, steps and shares, and the names of all extractors; the types that it lists have a wording."""
    for one in BUILT_IN:
        weights = f"{one.weights.recency} / {one.weights.relevance} / {one.weights.salience}"
        shares = " / ".join(f"{one.shares[name]:g}" for name in ("recent", "semantic", "entities", "relations", "patterns"))
        assert f"| `{one.name}` | {weights} | {one.depth} | {shares} % |" in PAGE
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{one.name}` | "))
        assert all(name in row for name in one.extractors)
    for type in ("file_read", "file_write", "file_edit", "shell_exec", "search", "error", "decision", "test"):
        assert f"`{type}`" in PAGE
        assert action_of(type)
