"""Parts: a long text is divided without gaps, torn characters or parts of the wrong size, and at the ends of what is said."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from germane.search.unit import MAX_PART, analyse_parts, parts
from germane.types.candidate import LONG_TEXT

UNITS = st.text(min_size=1, max_size=40)


@given(UNITS, st.integers(1, 5 * LONG_TEXT))
@example("日", 3 * LONG_TEXT)
@example("\ud800", LONG_TEXT)
@example("😀 ", LONG_TEXT)
def test_parts_are_the_text_without_gaps_and_of_bounded_size(unit: str, length: int) -> None:
    text = (unit * (length // len(unit) + 1))[:length]
    found = parts(text)
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= LONG_TEXT:
        assert found == ((text, 0, 0),)
        return
    assert "".join(part.text for part in found) == text
    assert [part.start for part in found] == [0, *(part.stop for part in found[:-1])]
    assert found[-1].stop == len(data)
    for part in found:
        assert data[part.start : part.stop] == part.text.encode("utf-8", "surrogatepass")
    assert all(MAX_PART // 2 <= part.stop - part.start <= MAX_PART for part in found[:-1])
    assert MAX_PART // 2 <= found[-1].stop - found[-1].start <= MAX_PART * 3 // 2


def test_a_part_ends_where_something_said_ends() -> None:
    """At a blank line, else at a line's, a sentence's or a word's end."""
    for end, filler in (("\n\n", "a line\n"), ("\n", "a sentence. "), (". ", "word "), (" ", "x")):
        said = filler * (MAX_PART * 3 // 4 // len(filler)) + end
        first, *_ = parts(said + filler * (LONG_TEXT // len(filler)))
        assert first.text == said


def test_each_part_is_analysed_by_itself() -> None:
    text = "The zebra crossed Lisbon. " + "and so on " * LONG_TEXT
    found = analyse_parts(text)
    assert [(one.start, one.stop) for one in found] == [(part.start, part.stop) for part in parts(text)]
    assert len(found) > 10
    assert sum(one.words for one in found) == len(text.split())
    assert analyse_parts("short") == ((*analyse_parts("short")[0][:3], 0, 0),)
