"""Outline line: which sentences a line shows, how its parts share its room, and what counts as telling (HIST-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.reading.outline_line import MAX_LINE, asked_in, line_of, one_line, telling

pytestmark = pytest.mark.requirement("HIST-5")

LONG = "The tide was low and the quay was dry, so nobody came to work before noon that day. " * 12


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("nothing to see here", 0),
        ("Berlin", 0),
        ("we met in Berlin", 1),
        ("it rained. Berlin was grey", 0),
        ("with Ann, Bob and I", 2),
        ("at 10:30 on 2024-05-03", 2),
        ("12,500.50 euros", 1),
        ("look at src/quay.py", 1),
        ("call crane.lift now", 1),
        ("well... maybe", 1),
        ("this/that", 1),
        ("the end.", 0),
        ("v1.2 of Ёлка in Минск", 2),
        ("the Élan of Ürzig", 2),
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14", 12),
    ],
)
def test_numbers_paths_and_names_inside_a_sentence_tell(text: str, count: int) -> None:
    """A capital at the beginning of a sentence is no name, nor is "I"; more than twelve count as twelve."""
    assert telling(text) == count


@given(st.text(alphabet="aB 1./,-_É", max_size=60))
def test_what_has_no_path_is_counted_alike_by_both_expressions(text: str) -> None:
    """A path behind the text, in a sentence of its own, adds one and makes no other difference."""
    assert telling(f"{text}| a/b") == min(12, telling(f"{text}|") + 1)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (["Hi there!", "The crane lifts 12 tons."], "The crane lifts 12 tons."),
        (["The sea is calm today.", "Please call the pilot."], "Please call the pilot."),
        (["Ok.", "Fine."], "Fine."),
        (["Thanks!"], ""),
        (["Thanks, the crane needs 4 ropes.", "It rained."], "Thanks, the crane needs 4 ropes."),
        (["One two.", "One two."], "One two."),
        (["Es ist weg.", "Kannst du es suchen?"], "Kannst du es suchen?"),
        (["Le port est fermé.", "Peux-tu appeler Anne ?"], "Peux-tu appeler Anne ?"),
        (["El puerto cierra.", "¿Puedes llamar?"], "¿Puedes llamar?"),
        (["Il porto chiude.", "Puoi chiamare?"], "Puoi chiamare?"),
        (["O porto fecha.", "Você pode ligar?"], "Você pode ligar?"),
        (["Порт закрыт.", "Можешь позвонить?"], "Можешь позвонить?"),
        (["Prefixes are no words.", "unneeded wantons"], "Prefixes are no words."),
    ],
)
def test_talk_shows_the_users_sentence_that_says_most(asked: list[str], line: str) -> None:
    """What asks, names and counts goes before greetings and thanks, in seven languages; of equal ones the first."""
    assert line_of(asked, (), (), "") == line


@pytest.mark.parametrize(
    ("ended", "end"),
    [
        ("Sure! The crane is at quay 4.", "The crane is at quay 4."),
        ("All is calm. The work is done.", "The work is done."),
        ("The sea is calm. The sky is blue.", "The sky is blue."),
        ("Alles ruhig. Der Kran ist fertig.", "Der Kran ist fertig."),
        ("Tout va bien. C'est terminé.", "C'est terminé."),
        ("Ya está listo. Todo está muy bien aquí.", "Ya está listo."),
        ("Va tutto bene. È tutto pronto.", "È tutto pronto."),
        ("Всё спокойно. Кран готово.", "Кран готово."),
        ("```\nresult = done(12)\n```\nAs you see.", "As you see."),
    ],
)
def test_talk_shows_the_answers_sentence_that_says_how_it_ended(ended: str, end: str) -> None:
    """Of equal ones the last; blocks of code say nothing."""
    assert line_of(["Where is it?"], (), (), ended) == f"Where is it? → {end}"


@pytest.mark.parametrize(
    ("asked", "wish"),
    [
        (["Hi, can you please help me to fix the crane?"], "fix the crane?"),
        (["I'm kinda trying to lift 12 tons.", "Thanks!"], "lift 12 tons."),
        (["Hello!", "I'd like to call the pilot.", "It's late."], "call the pilot. It's late."),
        (["Kannst du mir bitte dabei helfen, den Kran zu heben?"], "den Kran zu heben?"),
        (["Je voudrais lever la grue."], "lever la grue."),
        (["Quiero levantar la grúa."], "levantar la grúa."),
        (["Vorrei alzare la gru."], "alzare la gru."),
        (["Quero levantar a grua."], "levantar a grua."),
        (["Пожалуйста, подними кран."], "подними кран."),
        (["Please"], "Please"),
        (["Anyone can lift it."], "Anyone can lift it."),
    ],
)
def test_work_shows_the_wish_without_what_it_begins_with(asked: list[str], wish: str) -> None:
    """Greetings and "can you please" say nothing of it, in seven languages."""
    assert line_of(asked, ["lift"], (), "") == f"{wish} → lift"


def test_headings_of_an_answer_are_its_topics() -> None:
    """Two at least, each once, without their numbers and marks; one heading is none, and code has none."""
    sections = "## Step 1: Find the crane\ntext\n**2. Lift it:**\ntext\n## Lift it\ntext"
    assert line_of(["Go on."], (), (), sections) == "Go on. → Find the crane; Lift it"
    assert line_of(["Go on."], (), (), "# Only one\n\nIt lifts 12 tons.") == "Go on. → It lifts 12 tons."
    assert ";" not in line_of(["Go on."], (), (), "```\n# one\n# two two\n```\nDone.")
    many = "\n".join(f"## Chapter {number} of the book" for number in range(9))
    assert line_of(["Go on."], (), (), many) == "Go on. → Chapter 0 of the book; Chapter 1 of the…"


@pytest.mark.parametrize(
    ("tools", "files", "did"),
    [
        (["read", "edit", "read"], [], "read ×2, edit"),
        (["a", "b", "c", "d", "e", "f"], [], "a, b, c, d and 2 more tools"),
        (["edit"], ["a.py", "b.py"], "edit (a.py, b.py)"),
        (["edit"], ["a.py", "b.py", "c.py", "d.py", "e.py"], "edit (a.py, b.py, c.py and 2 more files)"),
        (["x" * 60], [], "x" * 39 + "…"),
        ([], ["a.py"], "a.py"),
    ],
)
def test_tools_are_counted_and_files_named(tools: list[str], files: list[str], did: str) -> None:
    """The commonest tools, and the first three files."""
    assert line_of(["Go."], tools, files, "") == f"Go. → {did.replace(' and 2 more tools', ', 2 more tools')}"


def test_the_parts_share_the_room_and_take_what_others_leave() -> None:
    """42, 20 and 38 percent where all are long; a short one leaves its room to the others, the wish first."""
    both = line_of([LONG], ["tool" * 9], ["some/long/path/of/a/file.py"] * 3, f"Total {LONG}")
    wish, did, end = both.split(" → ")
    assert len(both) <= MAX_LINE
    assert all(part.endswith("…") for part in (wish, did, end))
    assert len(wish) > len(end) > len(did)
    short = line_of([LONG], ["ls"], (), "Done.")
    assert short.endswith(" → ls → Done.")
    assert MAX_LINE - 24 <= len(short) <= MAX_LINE
    wish, end = line_of([LONG], (), (), f"Total {LONG}").split(" → ")
    assert len(wish) > 90 > len(end) > 60


def test_nothing_said_is_an_empty_line() -> None:
    """Neither is a line of arrows."""
    assert line_of((), (), (), "") == ""
    assert line_of((), ["ls"], (), "") == "ls"
    assert line_of((), (), (), "The crane is at quay 4.") == "The crane is at quay 4."


def test_a_cut_ends_at_a_word() -> None:
    """Without the mark that stood before it, and within the limit; a word that is too long is cut inside."""
    assert one_line("the crane, the quay and the tide", 16) == "the crane, the…"
    assert one_line("the crane, the quay", 12) == "the crane…"
    assert one_line("a\n\n  b\tc", 40) == "a b c"
    assert one_line("x" * 50, 10) == "x" * 9 + "…"
    assert one_line("abc", 1) == ""


def test_a_message_without_own_sentences_goes_by_its_beginning() -> None:
    """As one that is nothing but a log."""
    assert asked_in("ERROR  one\ntwo", []) == ["ERROR one two"]
    assert asked_in("One. Two.", [("One.", "One."), ("Two.", "Two.")]) == ["One.", "Two."]
    assert len(asked_in("word " * 100, [])[0]) <= 200


@given(
    st.lists(st.text(max_size=80), max_size=4),
    st.lists(st.text(min_size=1, max_size=50), max_size=6),
    st.lists(st.text(max_size=50), max_size=6),
    st.text(max_size=700),
)
def test_a_line_has_at_most_180_characters(asked: list[str], tools: list[str], files: list[str], ended: str) -> None:
    """Whatever it is made of."""
    assert len(line_of(asked, tools, files, ended)) <= MAX_LINE
