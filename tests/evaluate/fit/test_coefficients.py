"""Coefficients: the TOML file of a relevance model."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from germane.errors import InvalidInput
from germane.search.relevance import Relevance
from germane_eval.fit.fitting import load_tables, model_toml, shipped_tables

AT = datetime(2026, 11, 22, 1, 30, tzinfo=UTC)


@pytest.mark.requirement("SCORE-2")
def test_what_is_written_is_read_back_with_its_origin(tmp_path: Path) -> None:
    """Coefficients have four decimals, and the origin has a table of its own."""
    tables = shipped_tables()
    origin = {"data": ['a "set": 3 questions', "b"], "l2": 10.0, "held out": {"r250": 73.25}, "keywords": True, "limit": 400}
    text = model_toml(tables, origin, AT, notes=["One more thing."])
    file = tmp_path / "model.toml"
    file.write_text(text, "utf-8")
    assert load_tables(file) == {name: pytest.approx(dict(table), abs=1e-4) for name, table in tables.items()}
    document = tomllib.loads(text)
    assert document["provenance"] == {"fitted": AT.date(), **origin}
    assert Relevance.parse(document).weights == pytest.approx(Relevance.parse(tables).weights, abs=1e-4)
    assert "# One more thing." in text


def test_a_file_without_coefficients_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "empty.toml"
    file.write_text('[provenance]\nfitted = "today"\n')
    with pytest.raises(InvalidInput, match=r"empty\.toml"):
        load_tables(file)
