"""Guide: the code of `docs/use/guide.md` runs as one program, the pages that go on from it run behind it, and their settings
load."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from germane import Settings, Strategies
from germane.api.digest import DIGEST, digest_strategy
from germane.api.strategies import COMPACT, COMPOSITE, DEFAULT, VERBOSE
from germane.catalog.profiles import Catalog
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGES = ROOT / "docs" / "use"
BEHIND = ("assembling.md", "memories.md", "extraction.md", "strategies.md", "settings.md", "store.md")
"""They use the guide's names, such as `agent`."""
CLOSE = "await germane.close()"


def page(name: str) -> str:
    return (PAGES / name).read_text("utf-8")


def toml(name: str) -> str:
    (example,) = re.findall(r"^```toml\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)
    return str(example)


@pytest.mark.parametrize("behind", ["guide.md", *BEHIND])
def test_the_code_runs_from_top_to_bottom(behind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another, and those of another page from the guide's, so they run in one event loop."""
    monkeypatch.chdir(tmp_path)
    names = ["guide.md"] if behind == "guide.md" else ["guide.md", behind]
    code = "\n".join([block.code for name in names for block in blocks(page(name))] + [CLOSE])
    run(Block(1, code), behind, {"__name__": "guide"})


def test_the_settings_are_read(tmp_path: Path) -> None:
    """The strategy and the model of the file are found by name; the digest's are what they are without a file."""
    path = tmp_path / "germane.toml"
    path.write_text(toml("settings.md"), "utf-8")
    settings = Settings.load(path)
    (tmp_path / "digest.toml").write_text(toml("strategies.md"), "utf-8")
    assert digest_strategy(Settings.load(tmp_path / "digest.toml").memory) == DIGEST
    terse = Strategies(settings.strategies).find("terse")
    assert (terse.format, terse.placement, terse.cap) == ("compact", "split", 1500)
    assert Catalog.built_in().with_models(settings.models).find("house-model").window == 32000


def test_the_table_of_strategies_names_their_sources() -> None:
    """Each source of a built-in strategy."""
    row = next(line for line in page("strategies.md").splitlines() if line.startswith("| `sources` |"))
    used = {plan.name for strategy in (DEFAULT, COMPACT, VERBOSE, COMPOSITE) for plan in strategy.sources}
    assert sorted(name for name in used if f"`{name}`" not in row) == []
