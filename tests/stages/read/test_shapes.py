"""What stands out in a question: quoted phrases, identifiers, names, and its intent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.read.asks import EVENT_TYPES, intent
from germane.stages.read.query import identifiers, mentions, phrases
from germane.types.query import Intent
from support.examples import examples


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    "quoted", ['"old mill"', "“old mill”", "„old mill“", "«old mill»", "「old mill」", "'old mill'", "‘old mill’", "`old mill`"]
)
def test_quoted_phrases_are_read_in_any_quotes(quoted: str) -> None:
    """Every pair of quotation marks in use."""
    assert phrases(f"where is the {quoted}, do you know?") == ("old mill",)


def test_an_apostrophe_neither_opens_nor_closes_a_quote() -> None:
    """`it's Caroline's` quotes nothing; a possessive inside quotes stays inside."""
    assert phrases("it's Caroline's dog's bone") == ()
    assert phrases("read 'Charlotte's Web' yet?") == ("Charlotte's Web",)


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    "name",
    [
        "https://example.com/a?b=1", "src/auth/login.py", "/etc/hosts", "./run.sh", "C:\\temp\\x.log", "parse_config",
        "__init__", "std::vector", "os.path.join", "getUserName", "HttpClient", "E1234", "ERR_TIMEOUT",
        "0xDEADBEEF", "CVE-2021-44228", "v3.11.2", "#1234", "--dry-run", "ann@example.org", "3f2a9bc", "gpt-4o",
    ],
)  # fmt: skip
def test_identifiers_are_read_to_the_letter(name: str) -> None:
    """Paths, addresses, symbols, error codes."""
    assert name in identifiers(f"What about {name}, please? And {name}.")


@pytest.mark.parametrize("text", ["Where did she go, e.g. on 10/04/2022 at 3.5 km?", "He left.", "and/or", "I am 42"])
def test_prose_holds_no_identifiers(text: str) -> None:
    """Abbreviations, dates and plain numbers aren't symbols."""
    assert identifiers(text) == ()


@pytest.mark.requirement("SIG-1")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What did Caroline say to Melanie?", ("Caroline", "Melanie")),
        ("What is Caroline's job?", ("Caroline",)),
        ("Caroline’s dog in May on Tuesday", ("Caroline",)),
        ("When I'm at Sarah O'Neil's", ("Sarah O'Neil", "Sarah", "O'Neil")),
        ("has she read Lord of the Rings yet", ("Lord of the Rings", "Lord", "Rings")),
        ("Tell me about it. What now?", ()),
        ("где Мария?", ("Мария",)),
        ("WHY DOES NOTHING WORK IN HERE", ()),
    ],
)
def test_names_are_capitalised_words_that_may_be_someone(text: str, names: tuple[str, ...]) -> None:
    """Not question words, openers, months, or a shouted sentence."""
    assert mentions(text) == names


@pytest.mark.requirement("SIG-2")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Fix the login", "fix"),
        ("I get an error when saving", "fix"),
        ("there is a bug?", "fix"),
        ("add the prefix to debug output", "action"),
        ("the prefix, the suffix, the debugger", "other"),
        ("Explain the cache", "explain"),
        ("How does the cache work?", "explain"),
        ("What is her name?", "question"),
        ("她叫什么名字？", "question"),
        ("How do I create a file?", "question"),
        ("Can you create a file?", "action"),
        ("please rename it", "action"),
        ("Good morning", "other"),
        ("", "other"),
    ],
)
def test_intent_goes_by_whole_words(text: str, wanted: Intent) -> None:
    """`prefix` and `debug` don't trigger `fix`."""
    assert intent(text) == wanted


@pytest.mark.requirement("SIG-2")
def test_each_intent_maps_to_its_event_types() -> None:
    """The mapping is part of the promise."""
    assert dict(EVENT_TYPES) == {
        "fix": ("error", "shell_exec", "file_edit", "file_write"),
        "explain": ("file_read", "search", "assistant_message"),
        "question": ("user_message", "assistant_message", "search"),
        "action": ("file_write", "file_edit", "shell_exec"),
        "other": (),
    }


@given(text=st.text(st.characters(), max_size=300))
@examples(200)
def test_nothing_here_fails_on_any_string(text: str) -> None:
    """Bounded answers for every text."""
    assert len(identifiers(text)) <= 24
    assert len(phrases(text)) <= 8
    assert len(mentions(text)) <= 16
    assert intent(text) in EVENT_TYPES


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it is late.\n\n  \n run it", "action"),
        ("here \n\n run it", "action"),
        ("here;   deploy it", "action"),
        ("the long run it was", "other"),
        ("so,\n then stop", "action"),
        ("here\t\n run", "action"),
    ],
)
def test_an_order_stands_behind_any_white_space(text: str, found: Intent) -> None:
    """Where a sentence or a line begins."""
    assert intent(text) == found
