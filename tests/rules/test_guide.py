"""Guide: the code of `docs/use/guide.md` runs as one program, and its settings load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane import Settings, Strategies
from germane.api.digest import DIGEST, digest_strategy
from germane.catalog.profiles import Catalog
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

GUIDE = (ROOT / "docs" / "use" / "guide.md").read_text("utf-8")


def test_the_guides_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another, so they run in one event loop."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(block.code for block in blocks(GUIDE))
    run(Block(1, code), "guide.md", {"__name__": "guide"})


def test_the_guides_settings_are_read(tmp_path: Path) -> None:
    """The strategy and the model of the file are found by name; the digest's are what they are without a file."""
    digest, example = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    path = tmp_path / "germane.toml"
    path.write_text(example, "utf-8")
    settings = Settings.load(path)
    (tmp_path / "digest.toml").write_text(digest, "utf-8")
    assert digest_strategy(Settings.load(tmp_path / "digest.toml").memory) == DIGEST
    terse = Strategies(settings.strategies).find("terse")
    assert (terse.format, terse.placement, terse.cap) == ("compact", "split", 1500)
    assert Catalog.built_in().with_models(settings.models).find("house-model").window == 32000
