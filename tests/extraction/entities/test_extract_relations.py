"""Relations in texts: few and sure, and nothing from questions, conditions and denials."""

from __future__ import annotations

import pytest

from germane.extraction.entities.entities import extract_entities
from germane.extraction.entities.relations import extract_relations
from germane.kinds.graph.value import MAX_FOUND

pytestmark = pytest.mark.requirement("GRAPH-2")


def _related(text: str, speaker: str = "Zoe") -> list[tuple[str, str, str]]:
    found = extract_entities(text, speaker=speaker)
    return [(one.source.name, one.type, one.target.name) for one in extract_relations(text, found, speaker=speaker)]


@pytest.mark.parametrize(
    ("text", "related"),
    [
        ("I work at Acme Robotics and live in Berlin.", [("Zoe", "works_at", "Acme Robotics"), ("Zoe", "lives_in", "Berlin")]),
        ("My sister Anna lives in Porto.", [("Anna", "sister_of", "Zoe"), ("Anna", "lives_in", "Porto")]),
        ("Anna's brother Tom works for Siemens.", [("Tom", "brother_of", "Anna"), ("Tom", "works_at", "Siemens")]),
        ("Anna is Bob's manager.", [("Anna", "manager_of", "Bob")]),
        ("Meine Schwester Ute wohnt in Leipzig.", [("Ute", "sister_of", "Zoe"), ("Ute", "lives_in", "Leipzig")]),
        ("Ma sœur Léa habite à Nantes.", [("Léa", "sister_of", "Zoe"), ("Léa", "lives_in", "Nantes")]),
        ("Mi hermano Luis trabaja en Cemex.", [("Luis", "brother_of", "Zoe"), ("Luis", "works_at", "Cemex")]),
        ("Мой брат Антон живёт в Казани.", [("Антон", "brother_of", "Zoe"), ("Антон", "lives_in", "Казани")]),
        ("We use Redis, Kafka and Docker.", [("Zoe", "uses", "Redis"), ("Zoe", "uses", "Kafka"), ("Zoe", "uses", "Docker")]),
        ("`load` in src/a.py", [("src/a.py", "contains", "load")]),
        ("src/a.py imports src/b.py", [("src/a.py", "imports", "src/b.py")]),
        ("KeyError in src/a.py", [("KeyError", "occurs_in", "src/a.py")]),
    ],
)
def test_what_a_sentence_states_is_found(text: str, related: list[tuple[str, str, str]]) -> None:
    """What "I" and "my" say is said of the speaker."""
    assert _related(text) == related


@pytest.mark.parametrize(
    "text",
    [
        "Do you work at Google?",
        "Does Anna work at Siemens?",
        "So Anna lives in Oslo now, right?",
        "I don't live in Paris.",
        "If I lived in Rome, I'd work for Ferrari.",
        "Bob used to live in Madrid.",
        "Anna thinks I live in Paris.",
        "Bob visited Paris. Works at Google are on display.",
        "Maybe Anna lives in Oslo.",
    ],
)
def test_what_a_sentence_does_not_state_is_not_found(text: str) -> None:
    """A relation that is missed is still in its message; a wrong one would be shown as true."""
    assert _related(text) == []


def test_without_a_speaker_nothing_is_said_of_one() -> None:
    """Messages without a name still say how others relate."""
    assert _related("I work at Siemens. My sister Anna lives in Porto.", "") == [("Anna", "lives_in", "Porto")]


def test_the_words_that_say_since_when_come_along() -> None:
    """As they stand, for whoever knows the day on which they were said."""
    text = "I work at Acme Robotics since March 2021"
    (relation,) = extract_relations(text, extract_entities(text), speaker="Zoe")
    assert (relation.since, relation.until, relation.exclusive) == ("March 2021", "", True)


def test_relations_are_bounded() -> None:
    """Many entities in one text don't multiply."""
    text = "We use " + ", ".join(["Redis", "Kafka", "Docker"] * 300)
    assert len(extract_relations(text, extract_entities(text), speaker="Zoe")) <= MAX_FOUND
