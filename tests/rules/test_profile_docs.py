"""Profile docs: the code of `docs/use/profile.md` runs as one program, and its settings load."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from germane import Strategies
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "profile.md").read_text("utf-8")


@pytest.mark.requirement("PERSON-1")
def test_the_pages_code_runs_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks continue from one another."""
    monkeypatch.chdir(tmp_path)
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "profile.md", {"__name__": "profile"})


@pytest.mark.requirement("PERSON-1")
def test_the_settings_turn_it_off() -> None:
    """In the strategy that is used unless told otherwise."""
    (written,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert Strategies().find("default").profile == 500
    assert f"{Strategies().find('default').profile} in the strategy `default`" in PAGE
    assert Strategies(tomllib.loads(written)["strategies"]).find("default").profile == 0
