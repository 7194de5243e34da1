"""Changes: splices between texts, and the merge of two rewrites and of two orders."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from bench.blocks import lost, rewrites
from hypothesis import given
from hypothesis import strategies as st
from loro import LoroDoc

from germane.kinds.blocks.merge import Splice, merged_items, merged_text, reorder, splices
from support.steps import steps


def scratch() -> LoroDoc:
    made: LoroDoc = LoroDoc()  # type: ignore[no-untyped-call]
    return made


WORDS = st.lists(st.sampled_from(["a", "bc", " ", "\n", ", ", "日本", "é", "🙂", "a\uffffb"]), max_size=25).map("".join)


@given(WORDS, WORDS)
def test_splices_turn_one_text_into_the_other(old: str, new: str) -> None:
    """They don't overlap, and are in order."""
    found = splices(old, new, scratch)
    assert all(one.start + one.removed < next.start for one, next in pairwise(found))
    for one in reversed(found):
        old = old[: one.start] + one.inserted + old[one.start + one.removed :]
    assert old == new


def test_whole_words_are_replaced() -> None:
    """Not letters of them."""
    (one,) = splices("the cat sat", "the cow sat", scratch)
    assert (one.start, one.removed, one.inserted) == (4, 3, "cow")


def test_long_texts_without_anything_in_common_are_compared_in_bounded_time() -> None:
    """Where words would be too many, lines stand for words, and then the whole."""
    old, new = " ".join(f"a{n}" for n in range(2_000)), " ".join(f"b{n}" for n in range(2_000))
    assert len(splices(f"begin {old} end", f"begin {new} end", scratch)) == 1


@given(WORDS, WORDS)
def test_a_side_that_changed_nothing_gives_the_other_side(base: str, text: str) -> None:
    """Exactly."""
    assert merged_text(base, text, base, scratch) == merged_text(base, base, text, scratch) == text
    assert merged_text(base, text, text, scratch) == text


def test_two_replacements_of_the_same_word_are_both_there() -> None:
    """One after the other, with a space between."""
    assert sorted(merged_text("a cat sat", "a dog sat", "a cow sat", scratch).split()) == ["a", "cow", "dog", "sat"]


def test_two_rewrites_from_one_reading_are_both_there() -> None:
    """`bench blocks` tries 10,000."""
    assert rewrites(150, seed=3) == 0


def test_the_check_of_rewrites_notices_a_lost_edit() -> None:
    """As when the later rewrite replaces the earlier one."""
    from unittest.mock import patch

    from germane.kinds.blocks.document import BlockDocument
    from germane.kinds.blocks.mutation import SetText

    with patch.object(BlockDocument, "rewrite", lambda self, text, base: self.apply(SetText(text=text))):
        assert any(lost(Random(number)) for number in range(20))


ITEMS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(ITEMS, ITEMS, ITEMS)
def test_two_orders_merge_to_what_both_kept_and_either_added(base: list[str], ours: list[str], theirs: list[str]) -> None:
    """Each item once."""
    merged = merged_items(base, ours, theirs, scratch)
    added = (set(ours) | set(theirs)) - set(base)
    assert sorted(merged) == sorted((set(ours) & set(theirs) & set(base)) | added)


@given(st.lists(st.sampled_from("abcdefgh"), max_size=9), ITEMS)
def test_a_list_is_brought_into_any_order(present: list[str], wanted: list[str]) -> None:
    """From any list, an item twice included."""
    document = scratch()
    items = document.get_movable_list("items")
    for one in present:
        items.push(one)
    reorder(items, list(present), wanted)
    assert items.to_vec() == wanted


def test_only_the_item_that_moves_is_moved() -> None:
    """The others aren't touched, so that somebody's removal of them stands."""
    document = scratch()
    items = document.get_movable_list("items")
    for one in "abcde":
        items.push(one)
    document.commit()
    before = document.len_ops
    reorder(items, list("abcde"), list("bcdea"))
    document.commit()
    assert (items.to_vec(), document.len_ops - before) == (list("bcdea"), 1)


def test_an_undo_yields_words_and_not_the_spaces_between_them() -> None:
    """Both sides put a word before the same line break: that replaces nothing, so that neither word is lost."""
    both = merged_text(" \n", "mine \n", "theirs \n\n", scratch, yielding=True)
    assert sorted(both.split()) == ["mine", "theirs"]
    assert merged_text("one word", "one mine", "one theirs", scratch, yielding=True).split() == ["one", "theirs"]


def test_few_words_against_many_are_one_replacement_too() -> None:
    """The steps of a comparison are the square of all words that differ, not the product of both sides."""
    assert len(splices("begin one end", f"begin {' '.join(f'b{n}' for n in range(1_500))} end", scratch)) == 1


def test_what_is_added_to_the_end_is_not_compared() -> None:
    """Nor looked through, however long its last word is."""
    assert splices("x" * 90_000, "x" * 90_000 + "y", scratch) == [Splice(90_000, 0, "y")]
    assert steps(lambda: splices("x" * 90_000, "x" * 90_000 + "y", scratch)) < 20
