"""What is shown of the graph has a hash that changes with it, and with nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane.kinds.graph.value import entity_hash, pattern_hash, relation_hash
from germane_testing.builders import MOMENT


@pytest.mark.requirement("INJECT-6")
def test_a_hash_changes_with_each_part_that_is_shown() -> None:
    """And isn't that of another kind of thing with the same words."""
    hashes = [
        *(entity_hash(type, name, {}) for type, name in (("person", "Ann"), ("place", "Ann"), ("person", "Bob"))),
        *(entity_hash("person", "Ann", about) for about in ({"city": "Rome"}, {"city": "Oslo"}, {"town": "Oslo"})),
        *(relation_hash(*names, None) for names in (("a", "b", "c"), ("c", "b", "a"), ("a", "x", "c"), ("ab", "", "c"))),
        *(relation_hash("a", "b", "c", MOMENT + timedelta(seconds=seconds)) for seconds in (0, 1)),
        pattern_hash("Ann"),
    ]
    assert len(set(hashes)) == len(hashes)


def test_the_order_of_properties_changes_nothing() -> None:
    """They are shown by name."""
    assert entity_hash("a", "b", {"x": 1, "y": 2}) == entity_hash("a", "b", {"y": 2, "x": 1})
