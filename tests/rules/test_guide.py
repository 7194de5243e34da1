"""Guide: its code runs from top to bottom, and its example settings can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane import Settings, Strategies
from germane.catalog.catalog import Catalog
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

GUIDE = (ROOT / "docs" / "guide.md").read_text("utf-8")


def test_the_guides_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks build on each other, so they run as one script in an empty folder."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(block.code for block in blocks(GUIDE))
    run(Block(1, code), "guide.md", {"__name__": "guide"})


def test_the_guides_settings_are_read(tmp_path: Path) -> None:
    """Every table of the example is read, including its strategy and its model."""
    (example,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "germane.toml"
    path.write_text(example, "utf-8")
    settings = Settings.load(path)
    terse = Strategies(settings.strategies).find("terse")
    assert (terse.format, terse.placement, terse.cap) == ("compact", "split", 1500)
    assert Catalog.built_in().with_models(settings.models).find("house-model").window == 32000
