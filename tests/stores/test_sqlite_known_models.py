"""The dimension of an embedder that a store has vectors of."""

from __future__ import annotations

from pathlib import Path

import pytest

from germane import Germane
from germane.stores.sqlite.database import known_dimension
from germane_testing.builders import Hashed


@pytest.mark.requirement("SEARCH-4")
async def test_the_latest_model_of_the_family_counts(tmp_path: Path) -> None:
    """Models of other families don't, nor do families whose name begins alike."""
    path = tmp_path / "germane.db"
    for name, dimension in (("openai/m", 8), ("openai/m", 4), ("openai/m/large", 16), ("other", 2)):
        async with Germane.open(path, embedder=Hashed(name, dimension=dimension), freeze=False):
            pass
    assert [known_dimension(path, family) for family in ("openai/m", "openai/m/large", "openai", "none")] == [4, 16, None, None]


def test_without_a_readable_store_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    for path in (":memory:", tmp_path / "none.db", tmp_path, tmp_path / "text.db"):
        assert known_dimension(path, "openai/m") is None
    assert not (tmp_path / "none.db").exists()
