"""Models docs: the code and the settings of `docs/use/models.md` work, and the page names every family of the catalog."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from germane import Settings
from germane.catalog.profiles import Catalog, Prices
from support.code_blocks import blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "models.md").read_text("utf-8")
VENDORS = {"gpt-cl100k": "gpt", "gpt-o200k": "gpt"}
"""The beginning of the names of a table that is called otherwise."""


@pytest.mark.parametrize("block", blocks(PAGE), ids=lambda block: str(block.line))
def test_the_code_runs(block: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block by itself."""
    monkeypatch.chdir(tmp_path)
    run(block, "models.md", {"__name__": "models"})  # type: ignore[arg-type]


def test_the_settings_are_read(tmp_path: Path) -> None:
    """All tables of the page as one file."""
    path = tmp_path / "germane.toml"
    path.write_text("\n".join(re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)), "utf-8")
    settings = Settings.load(path)
    profile = Catalog.built_in().with_models(settings.models).find("our-deployment")
    assert (profile.window, profile.tokenizer) == (200_000, "o200k")
    price = Prices.built_in().with_prices(settings.prices).find("our-deployment")
    assert price is not None
    assert price.cost(1_000_000, 500_000) == pytest.approx(0.11)


def test_every_family_of_the_catalog_is_on_the_page() -> None:
    """By the beginning of its names."""
    families = tomllib.loads(files("germane.catalog").joinpath("models.toml").read_text("utf-8"))
    assert sorted(name for family in families if f"`{(name := VENDORS.get(family, family))}" not in PAGE) == []


def test_the_day_of_the_prices_is_the_one_that_is_shipped() -> None:
    """All are read on one day."""
    (day,) = {price.dated for price in Prices.built_in()}
    assert day == "2026-11-22"
    assert "22 November 2026" in PAGE
