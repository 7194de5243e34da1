"""Speakers: the few names that a text may hold, found by its words, are all that is needed of any number of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from germane.search.partition import Speakers, name_words, named_in
from germane.stages.gather.source import nameless

KNOWN = ["Ann Lee", "ann", "José", "Jose", "O'Neil", "Straße", "STRASSE", "Bo", "李雷", "İpek", "ﬁn", "a.b", "x-y", ""]
NAMES = st.lists(st.one_of(st.sampled_from(KNOWN), st.text(max_size=12)), max_size=12, unique=True)


@given(NAMES, st.data())
def test_the_names_that_share_a_word_do_as_well_as_all(names: list[str], data: st.DataObject) -> None:
    """Who is named, and the text without names, are the same."""
    words = st.one_of(st.text(max_size=10), st.sampled_from([*names, "’s", "'s", " ", "ANN", "lee?"]))
    said = " ".join(data.draw(st.lists(words, max_size=6)))
    every = dict(enumerate(names, 1))
    speakers = Speakers(every.items())
    found = speakers.said_in(name_words(said))
    assert set(found) <= set(names)
    assert named_in(said, {code: name for name, code in found.items()}) == named_in(said, every)
    assert nameless(said, tuple(found)) == nameless(said, names)


def test_a_name_is_known_once() -> None:
    """Added again, by a later message of the same person."""
    speakers = Speakers([(1, "Ann Lee")])
    speakers.add([(1, "Ann Lee"), (2, "Bo")])
    assert len(speakers) == 2
    assert speakers.said_in(name_words("lee, ann and bo")) == {"Ann Lee": 1, "Bo": 2}
    assert speakers.said_in(name_words("nobody")) == {}
