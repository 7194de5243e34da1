"""Contrast: what two nearly equal texts differ in."""

from __future__ import annotations

import pytest

from germane.kinds.memories.conflicts import Statement, contrast

SAME = (
    ("Prefers e-mail to phone calls", "She prefers e-mail over phone calls"),
    ("Budget for the kitchen is 12,000 euros", "The kitchen budget is 12000 euros"),
    ("Has three cats", "Has 3 cats"),
    ("Lives in Edinburgh with her two cats", "Lives with her two cats in Edinburgh"),
    ("Plans to visit Lisbon in spring with her sister", "Is planning to visit Lisbon with her sister in spring"),
    ("Swims on Mondays", "Swims every Monday"),
    ("يحب القهوة ـ في الصباح", "يحب القهوة في الصباح"),  # of a dash that is a letter of its script, folding leaves nothing
)
DIFFERENT = (
    ("number", "Dentist on 3 May at 9:00", "Dentist on 5 May at 9:00"),
    ("number", "Lives on the third floor", "Lives on the fifth floor"),
    ("number", "Hat drei Katzen", "Hat vier Katzen"),
    ("date", "Flight on Monday", "Flight on Tuesday"),
    ("date", "Rendez-vous le lundi", "Rendez-vous le mardi"),
    ("negation", "Is allergic to peanuts", "Is not allergic to peanuts"),
    ("negation", "Likes coffee", "Doesn't like coffee"),
    ("negation", "Always answer in German", "Never answer in German"),
    ("negation", "Deploys on Fridays are forbidden", "Deploys on Fridays are fine"),
    ("negation", "Mag Kaffee", "Mag keinen Kaffee"),
    ("order", "Prefers tea to coffee", "Prefers coffee to tea"),
    ("order", "Trinkt lieber Tee als Kaffee", "Trinkt lieber Kaffee als Tee"),
    ("name", "Works at Siemens in Munich", "Works at Siemens in Berlin"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_the_same_are_no_contrast(one: str, other: str) -> None:
    """In either direction."""
    assert _both(one, other) == {""}


@pytest.mark.requirement("MEM-4")
@pytest.mark.parametrize(("kind", "one", "other"), DIFFERENT)
def test_a_number_a_date_a_negation_and_the_direction_of_a_comparison_are(kind: str, one: str, other: str) -> None:
    """In either direction."""
    assert _both(one, other) == {kind}


def _both(one: str, other: str) -> set[str]:
    first, second = Statement(one), Statement(other)
    return {contrast(first, second), contrast(second, first)}
