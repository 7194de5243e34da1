"""What a query gives a search to go by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from germane.types.query import Query, Term
from germane_testing.builders import MOMENT


def no_vector(speakers: object) -> tuple[None, None]:
    return None, None


@pytest.mark.parametrize(
    ("fields", "searchable"),
    [
        ({"text": "?"}, False),
        ({"text": "?", "embed": no_vector}, True),
        ({"text": " \n", "embed": no_vector}, False),
        ({"text": " ", "vector": np.ones(2, np.float32)}, True),
        ({"text": "tea", "terms": (Term("tea", ("tea",)),)}, True),
        ({"text": "a.py", "identifiers": ("a.py",)}, True),
    ],
)
def test_words_a_vector_or_a_text_to_embed_can_be_searched_for(fields: dict[str, Any], searchable: bool) -> None:
    assert Query(at=MOMENT, **fields).searchable == searchable
