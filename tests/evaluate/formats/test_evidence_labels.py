"""Evidence labels: any label gives ids of existing messages, or a sentence that says why not."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from germane.cli.imports.locomo import dialogue_ids
from germane_eval.formats.draft import flat_labels, known_ids
from support.examples import examples

LABELS = st.recursive(
    st.none() | st.integers() | st.text(max_size=12) | st.from_regex(r"D:?\d{1,3}:\d{1,3}", fullmatch=True),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
NUMBERS = st.integers(0, 10**9 - 1)


@examples(200)
@given(labels=LABELS, known=st.frozensets(st.sampled_from(["D1:1", "D1:2", "1", "x"])), dialogue=st.booleans())
def test_only_known_ids_come_out_and_each_other_label_is_told(labels: Any, known: frozenset[str], dialogue: bool) -> None:
    """Every label gives a known id or a sentence."""
    found, lost = known_ids(labels, known, read=dialogue_ids) if dialogue else known_ids(labels, known)
    assert found <= known
    assert bool(list(flat_labels(labels))) == bool(found or lost)


@examples(200)
@given(pairs=st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4), joined=st.sampled_from(["; ", ",", " ", " and "]))
def test_joined_ids_come_apart_whole(pairs: list[tuple[int, int]], joined: str) -> None:
    """All joined ids are found, in their order."""
    ids = [f"D{session}:{turn}" for session, turn in pairs]
    assert dialogue_ids(joined.join(ids)) == ids


def test_an_id_that_several_messages_share_is_not_used() -> None:
    """The id is ambiguous although it is known."""
    assert known_ids(["a", "b"], {"a", "b"}, {"a"}) == (
        frozenset("b"),
        ["evidence a is the id of several messages: left out"],
    )
