"""Turn figures: what is added to turns without need, and how the turns are spread over the conversations."""

from __future__ import annotations

import pytest

from germane_eval.everyday import TurnAnswer, turn_figures, turns, turns_by_conversation

pytestmark = pytest.mark.requirement("EVAL-1")


def answer(kind: str, language: str, tokens: int, items: int) -> TurnAnswer:
    return TurnAnswer(id=1, language=language, kind=kind, conversation="one", tokens=tokens, items=items)


ANSWERS = [
    answer("thanks", "en", 0, 0),
    answer("code", "en", 300, 2),
    answer("thanks", "de", 100, 1),
    answer("code", "de", 0, 0),
]


def test_the_share_counts_turns_and_the_tokens_are_a_mean() -> None:
    """Two items in one turn count once; turns that got nothing count in both."""
    figure = turn_figures(ANSWERS)[0]
    assert (figure.by, figure.name, figure.count, figure.tokens, figure.share) == ("all", "", 4, 100.0, 0.5)
    assert (figure.low, figure.high) == (None, None)


def test_the_worst_kinds_and_languages_stand_first() -> None:
    """Shares decide, then tokens."""
    found = turn_figures([*ANSWERS, answer("test", "fr", 0, 0)])
    assert [(figure.by, figure.name) for figure in found[1:]] == [
        ("kind", "code"),
        ("kind", "thanks"),
        ("kind", "test"),
        ("language", "en"),
        ("language", "de"),
        ("language", "fr"),
    ]


def test_a_directive_costs_tokens_and_is_no_item() -> None:
    """A turn may get tokens without any item."""
    assert turn_figures([answer("thanks", "en", 40, 0)])[0].share == 0.0
    assert turn_figures([answer("thanks", "en", 40, 0)])[0].tokens == 40.0


def test_without_answers_there_are_no_figures() -> None:
    """Where the turns weren't asked."""
    assert turn_figures([]) == ()


def test_turn_i_goes_to_conversation_i_mod_n() -> None:
    """The turns are those of the half `report`, each once."""
    spread = turns_by_conversation(["a", "b", "c"])
    assert spread["b"] == list(turns("report")[1::3])
    assert sorted(turn.id for asked in spread.values() for turn in asked) == [turn.id for turn in turns("report")]


def test_a_sample_is_spread_over_the_languages() -> None:
    """The same turns in each run."""
    spread = turns_by_conversation(["a", "b"], limit=24)
    assert sum(map(len, spread.values())) == 24
    assert len({turn.language for asked in spread.values() for turn in asked}) == 12
    assert spread == turns_by_conversation(["a", "b"], limit=24)
