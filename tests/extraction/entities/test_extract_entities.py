"""Entities in texts: what rules and lists find, and what they leave alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.extraction.entities.days import date_key
from germane.extraction.entities.entities import extract_entities
from germane.kinds.graph.value import ENTITY_TYPES, MAX_FOUND

pytestmark = pytest.mark.requirement("GRAPH-2")


def _found(text: str, *, speaker: str = "", role: str = "user") -> list[tuple[str, str]]:
    return [(one.type, one.name) for one in extract_entities(text, speaker=speaker, role=role)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My sister Zsuzsanna lives in Debrecen.", [("person", "Zsuzsanna"), ("place", "Debrecen")]),
        ("Hi Quillan, are you there?", [("person", "Quillan")]),
        ("I talked to Dr. Weberling at the Halden Institute.", [("person", "Weberling"), ("organisation", "Halden Institute")]),
        ("She works at Kestrel on Fridays.", [("organisation", "Kestrel")]),
        ("Tavisha's wedding was lovely.", [("person", "Tavisha")]),
        ("Er wohnt in Oberhinterdorf und arbeitet bei der Zimtwerk GmbH.", [
            ("place", "Oberhinterdorf"), ("organisation", "Zimtwerk GmbH")]),
        ("Elle habite à Trégunc.", [("place", "Trégunc")]),
        ("Вчера видела Машу в Твери.", [("person", "Машу"), ("place", "Твери")]),
        ("田中さんは東京大学にいます。", [("person", "田中"), ("organisation", "東京大学")]),
        ("Kenya, Uganda and Wakanda", [("place", "Kenya"), ("place", "Uganda"), ("place", "Wakanda")]),
        ("See https://a.example/x?y=1.", [("url", "https://a.example/x?y=1")]),
        ("It broke in src/app/main.py:42:7", [("file", "src/app/main.py")]),
        ("`load_all()` raises KeyError", [("symbol", "load_all()"), ("error", "KeyError")]),
        ("std::vector and handleClick", [("symbol", "std::vector"), ("symbol", "handleClick")]),
        ("error[E0308] and HTTP 404 and ENOENT", [("error", "E0308"), ("error", "HTTP 404"), ("error", "ENOENT")]),
        ("it left with code 3, exit code 137", [("error", "exit code 137")]),
        ("Fixed in 9f3ab21, see ABC-123 and #77.", [("commit", "9f3ab21"), ("ticket", "ABC-123"), ("ticket", "#77")]),
        ("$ kubectl get pods", [("tool", "kubectl")]),
        ("We use docker, then `make build`.", [("tool", "docker"), ("tool", "make")]),
        ("On 7 May 2023 and May 9th", [("date", "7 May 2023"), ("date", "May 9th")]),
    ],
)  # fmt: skip
def test_what_a_text_names_is_found(text: str, found: list[tuple[str, str]]) -> None:
    """Names that no list has are told by what stands around them; everything comes in the order of the text."""
    assert _found(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok thanks, see you tomorrow!",
        "I WAS SO HAPPY WHEN WE WON THE FINAL GAME",
        "Monday works, Tuesday doesn't. May I ask why?",
        "Das Essen war lecker, aber der Service leider sehr langsam.",
        "Wir arbeiten im Moment mit Hochdruck an der Lösung und treffen uns in Gruppen.",
        "UTF-8, SHA-256, ISO-8601 and COVID-19 aren't tickets.",
        "Wait. What? Never. Winning felt great.",
        'We watched "Summer Sounds" in the rain.',
        "## Working with Retries",
        "- **Start with Gratitude**: it helps",
        "Dear [Hiring Person],",
        "Dear Hiring Manager,",
        "```python\nvalue = loadAll(fooBar)\ncolor: #333\n```",
        "e.g. this, i.e. that, at 10:30 a.m. or 3.14",
        "It may 5 be; we march 3 miles",
        "mail me at jo@example.com",
        "今天天气真好。",
    ],
)
def test_what_only_looks_like_a_name_is_left_alone(text: str) -> None:
    """Capitals at the beginning of sentences, days, shouted texts, German nouns, titles in quotation marks, figures."""
    assert _found(text) == []


def test_of_a_block_of_code_only_what_it_defines_counts() -> None:
    """Files and errors count anywhere."""
    text = "See:\n```python\ndef load_all(some_path):\n    raise ValueError(some_path)  # a/b.py\n```\nand `other_one`."
    assert _found(text) == [("symbol", "load_all"), ("error", "ValueError"), ("file", "a/b.py"), ("symbol", "other_one")]


def test_each_name_says_where_it_stands() -> None:
    """The name is the text between the two places, without the possessive ending."""
    text = "Ask Anna’s friend Bob about `run_all()` in https://x.example/a and d'Élodie"
    for one in extract_entities(text):
        assert text[one.start : one.end] == one.name
        assert one.type in ENTITY_TYPES
        assert 0 < one.confidence <= 1


def test_the_speaker_comes_first_and_only_once() -> None:
    """A speaker who names herself is found where she does; roles such as `assistant` are nobody's name."""
    assert _found("hello", speaker="Zoë") == [("person", "Zoë")]
    assert _found("Anna here", speaker="Anna") == [("person", "Anna")]
    assert _found("hello", speaker="assistant") == []
    assert _found("hello", speaker="Zoë", role="tool") == []


def test_a_name_that_is_known_in_the_conversation_needs_no_cue() -> None:
    """`known` has the types of names by the folded name."""
    assert _found("I like Zorblax a lot") == []
    found = extract_entities("I like Zorblax a lot", known={"zorblax": "organisation"})
    assert [(one.type, one.name) for one in found] == [("organisation", "Zorblax")]


def test_no_text_gives_more_than_64_entities() -> None:
    """The first ones count."""
    found = extract_entities(" ".join(f"file_{number}.py" for number in range(500)))
    assert len(found) == MAX_FOUND
    assert found[0].name == "file_0.py"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("2023-05-07", "2023-05-07"),
        ("7 May 2023", "2023-05-07"),
        ("May 7th, 2023", "2023-05-07"),
        ("7. Mai 2023", "2023-05-07"),
        ("7 de mayo de 2023", "2023-05-07"),
        ("7 мая 2023", "2023-05-07"),
        ("2023年5月7日", "2023-05-07"),
        ("25/05/2023", "2023-05-25"),
        ("05/25/2023", "2023-05-25"),
        ("04/05/2023", "04/05/2023"),
        ("May 2023", "2023-05"),
        ("12 March", "--03-12"),
        ("sometime", None),
    ],
)
def test_spellings_of_a_date_have_one_key(text: str, key: str | None) -> None:
    """A date whose order nobody can tell stays as it is written."""
    assert date_key(text) == key


@given(st.text(max_size=300) | st.text(alphabet="aA .,'’`$#:/-_0é東さ\n", max_size=300))
def test_any_text_is_read(text: str) -> None:
    """Nothing raises, places fit, and nothing is found twice."""
    found = extract_entities(text, speaker=text[:20])
    assert len({(one.type, one.name) for one in found}) == len(found) <= MAX_FOUND
    assert all(text.replace("\0", " ")[one.start : one.end] == one.name for one in found if one.end)
