"""Same thing: of a message and what was extracted from it, one form is shown (GATHER-3)."""

from __future__ import annotations

from typing import Any

import pytest

from germane.stages.score.links import once
from germane.types.candidate import Breakdown, Candidate, Provenance, Scored
from germane_testing.builders import candidate


def scored(one: Candidate, log_odds: float, rank: int) -> Scored:
    parts = Breakdown(relevance=0.5, recency=0.5, usefulness=0.5, confidence=0.5, frequency=0.0)
    return Scored(candidate=one, score=0.5, log_odds=log_odds, breakdown=parts, rank=rank)


def memory(text: str, of: Candidate, **fields: Any) -> Candidate:
    origin = Provenance(refs=(of.id,), metadata={"extracted": "prefer"})
    return candidate(text, source="memories", category="preference", provenance=origin, **fields)


SHORT = candidate("I prefer tea, thanks")
LONG = candidate("I prefer tea. " + "And much else. " * 40)


@pytest.mark.requirement("GATHER-3")
def test_a_short_message_stands_for_what_was_extracted_from_it() -> None:
    """With the higher of the two scores, and at its place in the order."""
    other, said = candidate("Something else"), memory("I prefer tea", SHORT)
    kept = once([scored(said, 2.0, 1), scored(other, 1.0, 2), scored(SHORT, 0.0, 3)])
    assert [(item.id, item.log_odds, item.rank) for item in kept] == [(SHORT.id, 2.0, 1), (other.id, 1.0, 2)]
    assert kept[0].candidate.also == ("memories",)


def test_of_a_long_message_the_more_probable_form_stays() -> None:
    said = memory("I prefer tea", LONG)
    for first, second in ((said, LONG), (LONG, said)):
        kept = once([scored(first, 2.0, 1), scored(second, 1.0, 2)])
        assert [(item.id, item.log_odds) for item in kept] == [(first.id, 2.0)]


def test_a_memory_without_its_message_stays() -> None:
    """So does one that is required, and one that was remembered on purpose with a reference to a message."""
    alone = scored(memory("I prefer tea", LONG), 1.0, 1)
    assert once([alone]) == (alone,)
    pinned = scored(memory("I prefer tea", SHORT, required=True), 1.0, 1)
    stated = scored(candidate("I like tea", provenance=Provenance(refs=(SHORT.id,))), 1.0, 2)
    assert len(once([pinned, stated, scored(SHORT, 0.0, 3)])) == 3
