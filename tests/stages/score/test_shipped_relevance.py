"""The coefficients of the relevance model that germane ships."""

from __future__ import annotations

import numpy as np
import pytest

from germane.models.embedders.distilled import Distilled
from germane.models.embedders.minilm import MiniLM
from germane.models.embedders.openai import OpenAICompatible
from germane.models.embedders.static import Static
from germane.ports.models import is_contextual
from germane.search.relevance import matrix, shipped
from germane.types.evidence import FEATURES, Evidence


@pytest.mark.requirement("SCORE-2")
@pytest.mark.parametrize("contextual", [False, True])
def test_more_evidence_never_makes_a_message_of_people_less_likely(contextual: bool) -> None:
    """The likeness of the text, of its surroundings and of its words each speak for it."""
    weak = Evidence(own=0.2, window=0.2, cos_own=0.1, cos_window=0.1, soft=0.2)
    strong = Evidence(own=0.2, window=0.8, cos_own=0.5, cos_window=0.6, soft=0.8)
    low, high = shipped(contextual=contextual).log_odds(matrix([weak, strong]))
    assert high - low > 4


@pytest.mark.requirement("SCORE-2")
def test_without_vectors_a_column_of_its_own_applies() -> None:
    people = shipped()
    assert people.weights[1, FEATURES.index("cos_window")] == 0
    assert not np.array_equal(people.weights[0], people.weights[1])


def test_embedders_that_read_a_text_as_a_whole_have_coefficients_of_their_own() -> None:
    """What an embedder says of itself chooses them when a store is opened (tests/api/test_embedder_capabilities.py)."""
    endpoint = OpenAICompatible("http://localhost:9", "any", None, 8, 1.0)
    assert [is_contextual(embedder) for embedder in (MiniLM(), endpoint, Distilled(), Static())] == [True, True, False, False]
    assert shipped(contextual=True) is not shipped(contextual=False)
