"""Excerpts of long texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.write.excerpts import Excerpts
from support.examples import examples
from support.rendering import chosen, cost_alone, opened

FILLER = " ".join(f"Nothing of note happened on day {day}, as far as anybody knows." for day in range(60))
STORY = f"{FILLER} Whiskers the cat was adopted in June. {FILLER}"


@pytest.mark.requirement("PACK-5")
@pytest.mark.parametrize("name", ["xml", "compact"])
@pytest.mark.parametrize("limit", [90, 120, 400])
def test_the_excerpt_is_around_what_matches_and_costs_no_more_than_asked(name: str, limit: int) -> None:
    """Measured as written, wrapper, id and header included; words match by their stems."""
    form, item = opened(name, "adopting", "cats"), chosen(STORY).scored.candidate
    excerpt = form.shorten(item, limit)
    assert excerpt is not None
    assert "Whiskers the cat was adopted in June." in excerpt.text
    assert cost_alone(form, item, excerpt.text) <= limit


@pytest.mark.requirement("PACK-5")
def test_cuts_are_marked_and_fall_between_sentences() -> None:
    """`…` where something was left out, and only there."""
    form = opened("compact", "cat")
    excerpt = form.shorten(chosen(STORY).scored.candidate, 80)
    assert excerpt is not None
    assert excerpt.text.startswith("…")
    assert excerpt.text.endswith(".…")
    from_the_start = form.shorten(chosen(FILLER).scored.candidate, 80)
    assert from_the_start is not None
    assert from_the_start.text.startswith("Nothing of note happened on day 0,")


@pytest.mark.requirement("PACK-5")
def test_the_share_is_the_part_of_the_characters_that_is_shown() -> None:
    """What is added at the cuts doesn't count."""
    excerpt = opened("compact", "cat").shorten(chosen(STORY).scored.candidate, 80)
    assert excerpt is not None
    assert excerpt.share == pytest.approx(len(excerpt.text.strip("…")) / len(STORY))


@pytest.mark.requirement("PACK-5")
def test_nothing_is_shown_where_only_a_few_words_would_fit() -> None:
    """Fewer than 8 tokens of text say nothing."""
    form, item = opened("compact", "cat"), chosen(STORY).scored.candidate
    empty = cost_alone(form, item, "")
    assert form.shorten(item, empty + 7) is None
    assert form.shorten(item, 0) is None
    assert form.shorten(chosen("   ").scored.candidate, 100) is None


def test_a_match_far_dearer_than_the_text_around_it_is_cut_itself() -> None:
    """Its characters alone would have fitted at what the others cost."""

    def cost(text: str) -> int:
        return sum(1 if char.isascii() else 4 for char in text) // 4

    cat = "cat" + "ᚠ" * 60
    excerpt = Excerpts(["cat"]).of(f"{'so it went ' * 60}{cat}{' on and on' * 60}", 40, cost)
    assert excerpt is not None
    assert "cat" in excerpt.text
    assert cost(excerpt.text) <= 40


def test_what_fits_is_left_whole() -> None:
    """Nothing is cut without need."""
    excerpt = opened("compact").shorten(chosen("Whiskers was adopted in June.").scored.candidate, 100)
    assert excerpt is not None
    assert (excerpt.text, excerpt.share) == ("Whiskers was adopted in June.", 1.0)


@pytest.mark.requirement("PACK-5")
@pytest.mark.parametrize(
    "text", ["日本語の文章がとても長く続いていて" * 60, "word " * 3000, "x" * 20_000, "👩‍👧" * 900, "a, b; c: " * 900]
)
def test_text_without_sentences_is_cut_at_smaller_places(text: str) -> None:
    """Clauses, words, and in the end between graphemes."""
    form, item = opened("compact"), chosen(text).scored.candidate
    excerpt = form.shorten(item, 70)
    assert excerpt is not None
    assert cost_alone(form, item, excerpt.text) <= 70
    assert excerpt.text.strip("…").strip() in text
    assert not excerpt.text.startswith(("\u200d", "…\u200d"))


def test_a_very_long_text_is_looked_at_where_the_terms_are() -> None:
    """A megabyte isn't read word by word."""
    text = "Nothing happened here. " * 30_000 + "Whiskers the cat was adopted in June. " + "Nothing happened there. " * 10_000
    excerpt = opened("compact", "whiskers", "adopted").shorten(chosen(text).scored.candidate, 100)
    assert excerpt is not None
    assert "Whiskers the cat was adopted" in excerpt.text


@pytest.mark.requirement("PACK-5")
@examples(100)
@given(st.text(max_size=300), st.integers(0, 120))
def test_no_excerpt_costs_more_than_asked(text: str, limit: int) -> None:
    """Whatever the text; here a character is a token and the frame costs ten."""
    excerpt = Excerpts(("cat",)).of(text, limit, lambda shown: 10 + len(shown))
    if excerpt is not None:
        assert 10 + len(excerpt.text) <= limit
        assert 0 < excerpt.share <= 1
        assert excerpt.text.strip("…") in text or excerpt.share == 1


@pytest.mark.parametrize("dear", [40, 400, 4_000])
def test_an_excerpt_asks_for_few_costs_however_uneven_a_text_is(dear: int) -> None:
    """A beginning that costs nearly everything, and words that cost nothing after it: not asked about word by word."""
    asked = 0

    def cost(text: str) -> int:
        nonlocal asked
        asked += 1
        return 4 + text.count("#") + len(text) // 4_000

    text = "dog " + "# " * dear + "ab " * 40_000
    excerpt = Excerpts(["dog"]).of(text, dear + 10, cost)
    assert excerpt is not None
    assert asked < 120
