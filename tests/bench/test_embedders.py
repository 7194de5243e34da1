"""The scripts in which embedders are asked."""

from __future__ import annotations

import pytest
from bench.embedders import main, nearest

from germane.models.embedders.distilled import Distilled


@pytest.mark.requirement("SEARCH-6")
def test_most_questions_are_nearest_to_their_fact_in_each_script() -> None:
    """Five of each of thirteen scripts."""
    found = nearest(Distilled())
    assert len(found) == 13
    assert min(found.values()) >= 4


def test_the_bench_says_how_many_were_found(capsys: pytest.CaptureFixture[str]) -> None:
    """Of all scripts together; without data no rate."""
    main([])
    said = capsys.readouterr().out
    assert "of 65 questions nearest to their fact" in said
    assert "texts/s" not in said
