"""Products of two features in the relevance model."""

from __future__ import annotations

import numpy as np
import pytest

from germane.errors import InvalidInput
from germane.search.relevance import COEFFICIENTS, Relevance, design, matrix
from germane.types.evidence import FEATURES, Evidence

_COLUMNS = ("people", "people_lexical", "assistant", "assistant_lexical")


def model(**weights: float) -> Relevance:
    return Relevance.parse(
        {column: {name.replace("__", ":"): weight for name, weight in weights.items()} for column in _COLUMNS}
    )


def test_products_stand_behind_the_features() -> None:
    table = np.arange(2.0 * len(FEATURES)).reshape(2, -1)
    full = design(table)
    assert full.shape == (2, len(COEFFICIENTS))
    assert (full[:, : len(FEATURES)] == table).all()
    for name, column in zip(COEFFICIENTS[len(FEATURES) :], full[:, len(FEATURES) :].T, strict=True):
        one, other = (table[:, FEATURES.index(part)] for part in name.split(":"))
        assert (column == one * other).all(), name


@pytest.mark.requirement("SCORE-2")
def test_a_product_has_a_coefficient_of_its_own() -> None:
    """What a longer query makes of the same match."""
    found = model(own=1.0, own__terms=2.0).log_odds(matrix([Evidence(own=0.5), Evidence(own=0.5, terms=0.25)]))
    assert found.tolist() == pytest.approx([0.5, 0.5 + 0.25])


def test_a_product_that_the_model_lacks_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="user:month"):
        model(user__month=1.0)
