"""What a sentence says to hold of a person or a thing, in seven languages, whatever the text around it."""

from __future__ import annotations

import pytest
from bench.current import histories

from germane import Agent
from germane.extraction.memories.extract import extract


def found(text: str, speaker: str = "") -> list[tuple[str, str]]:
    return [(one.key, one.text) for one in extract(text, speaker=speaker) if one.kind == "fact"]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Marta moved to Lisbon.", "marta.home", "Lisbon"),
        ("You know Marta lives in Oslo now, right?", "marta.home", "Oslo"),
        ("Marta joined Globex.", "marta.employer", "Globex"),
        ("They raised the rent to 640 euros.", "paul.rent", "640 euros"),
        ("Marta ist nach Wien gezogen.", "marta.home", "Wien"),
        ("Klavierabend wurde auf den 9. Mai verschoben.", "paul.klavierabend", "9. Mai"),
        ("J'ai déménagé à Oslo.", "paul.home", "Oslo"),
        ("La cuota subió a 455 euros.", "paul.cuota", "455 euros"),
        ("Nora si è trasferita a Vienna.", "nora.home", "Vienna"),
        ("A corrida solidária foi adiada para 9 de maio.", "paul.corrida-solidaria", "9 de maio"),
        ("Марта теперь живёт в Осло.", "марта.home", "Осло"),
    ],
)
def test_a_statement_about_somebody_has_their_name_in_its_key(text: str, key: str, value: str) -> None:
    """So that the next statement on the same key replaces it."""
    assert found(text, "Paul") == [(key, value)]


@pytest.mark.parametrize(
    "text",
    [
        "Does Marta live in Oslo?",
        "If Marta moved to Oslo, she'd be happy.",
        "Maybe Marta works at Globex.",
        "Marta never lived in Oslo, and she is not working at Globex.",
        "Paul said Marta works at Globex.",
        "Ich wünschte, Marta würde nach Wien ziehen.",
        "Si Marta déménage à Oslo, on la verra.",
        "Quizás Marta trabaja en Globex.",
        "Если Марта живёт в Осло, она далеко.",
        "The area is 30 cm², which is 2 times more.",
        "She lives in fear.",
        "It went up to 640 euros.",
        '"Marta lives in Oslo", the book begins.',
    ],
)
def test_what_is_asked_supposed_denied_reported_or_quoted_is_no_statement(text: str) -> None:
    """Nor is a statement about a pronoun, as nobody knows who it is."""
    assert found(text, "Paul") == []


@pytest.mark.requirement("MEM-4")
async def test_the_message_of_a_replaced_statement_is_marked(agent: Agent) -> None:
    """Also where another person said it, in another language."""
    talk = [("Paul", "Marta lives in Oslo.", "2024-05-01"), ("Nora", "Marta ist nach Wien gezogen.", "2024-05-02")]
    await agent.record(
        [{"role": "user", "name": name, "content": text, "created_at": f"{day}T09:00Z"} for name, text, day in talk],
        session="s",
    )
    known = await agent.about("Marta")
    assert [item.text for item in known.current] == ["marta home: Wien"]
    marked = [item.text for item in known.mentions if item.scored.candidate.outdated is not None]
    assert marked == ["Marta lives in Oslo."]


def test_long_runs_take_linear_time() -> None:
    """A rule looks at a bounded part before and behind its word."""
    for text in ("lives in " * 5000, "Marta " * 5000, "is " * 9000, "x" * 20_000, "Marta lives in " + "A" * 20_000):
        extract(text, speaker="Paul")


def test_histories_are_the_same_for_one_seed_and_say_what_they_ask() -> None:
    """The phrases of the held-out half are others."""
    one, other = histories(28, held_out=False), histories(28, held_out=True)
    assert one == histories(28, held_out=False)
    assert {history.language for history in one} == {history.language for history in other}
    assert len({history.language for history in one}) == 7
    for history in one:
        assert all(value in text for value, text in zip(history.values, history.stated, strict=True))
        assert not set(history.stated) & {text for held in other for text in held.stated}
