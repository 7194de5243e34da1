"""Found: which words of an answer count, and when enough of them are shown."""

from __future__ import annotations

import pytest

from germane_eval.everyday import answer_units, flat_text, is_held, is_in_prompt

pytestmark = pytest.mark.requirement("EVAL-1")

SAID = "Since we moved to Braga I mend violins in the shed, 40 euros a plank."


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("The shed in Braga", {"shed", "braga"}),
        ("At 7, no. 40", {"7", "40"}),
        ("naïve_Straße", {"naïve", "straße"}),
        ("我明天去", {"我明", "明天", "天去"}),
        ("去3次", {"3"}),
        ("", set()),
    ],
)
def test_words_numbers_and_pairs_of_characters_count(text: str, units: set[str]) -> None:
    """Not short words, nor the commonest; where words aren't separated, every two characters are a unit."""
    assert answer_units(text) == units


@pytest.mark.parametrize(
    ("answer", "shown", "held"),
    [
        ("violins, in Braga", "mends violins in Braga", True),
        ("violins, in Braga", "mends violins", False),
        ("violins", "violins", True),
        ("somewhere else", "anything", True),
        ("", "", True),
        ("Braga violins shed planks 40", "40 violins in a shed", True),
    ],
)
def test_three_quarters_of_what_answer_and_message_share_must_be_shown(answer: str, shown: str, held: bool) -> None:
    """Words of the answer that the message hasn't don't count; where they share none, any line of the message will do."""
    assert is_held(SAID, answer, shown) is held


def test_a_message_is_recognised_by_its_beginning() -> None:
    """Its end may be cut off in the prompt, and lines may be broken otherwise."""
    message = "one  two\nthree " * 20
    assert is_in_prompt(message, flat_text(f"before\n{message[:120]} …"))
    assert not is_in_prompt(message, flat_text(message[:60]))


def test_long_runs_take_no_longer_than_their_length() -> None:
    """A million characters of one kind."""
    for run in ("a", "7", "_", "我", " ", "ー", "́"):
        assert len(answer_units(run * 1_000_000)) <= 1
