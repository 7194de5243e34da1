"""Passages: of a long text a request gets the part that matches; the rest isn't read from the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from germane.stores.sqlite.passage import PASSAGE, passage
from germane.types.candidate import LONG


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    opened = apsw.Connection(":memory:")
    opened.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    yield opened
    opened.close()


def kept(connection: apsw.Connection, text: str) -> int:
    """The size of the text in bytes, once it is event 1."""
    connection.execute("INSERT OR REPLACE INTO events VALUES (1, ?)", (text,))
    return len(text.encode())


UNITS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)


@settings(max_examples=60, deadline=None)
@given(UNITS, st.floats(0, 1))
def test_a_passage_is_a_part_of_the_text_and_says_which(connection: apsw.Connection, unit: str, at: float) -> None:
    """Whatever the text is made of: no character is torn, and the bytes are those it names."""
    text = unit * (3 * LONG // len(unit))
    size = kept(connection, text)
    found = passage(connection, 1, size, at=at, words=["a"])
    start, end, whole, _ = found.passage
    shown = text.encode()[start:end].decode()
    assert whole == size
    assert found.text == f"{'…' * (start > 0)}{shown}{'…' * (end < size)}"
    assert 0 < len(shown) <= PASSAGE


@pytest.mark.parametrize("place", [0.0, 0.3, 0.97])
def test_the_passage_is_the_one_that_holds_the_words(connection: apsw.Connection, place: float) -> None:
    """Where the terms say they are, or somewhat beside it."""
    filler = [f"filler{number:05}" for number in range(40_000)]
    filler.insert(int(place * len(filler)), "the zebra crossed Lisbon")
    size = kept(connection, " ".join(filler))
    for beside in (-0.02, 0.0, 0.02):
        found = passage(connection, 1, size, at=min(1.0, max(0.0, place + beside)), words=["zebra", "lisbon"])
        assert "zebra crossed Lisbon" in found.text
        assert found.passage.matches == 2


def test_of_a_text_nobody_asked_about_the_beginning_is_shown(connection: apsw.Connection) -> None:
    size = kept(connection, "In the beginning " + "and so on " * LONG)
    found = passage(connection, 1, size)
    assert found.text.startswith("In the beginning")
    assert found.text.endswith("…")
    assert (found.passage.start, found.passage.matches) == (0, 0)


def test_reading_a_passage_reads_little_of_the_file(tmp_path: Path) -> None:
    """SQLite follows the chain of pages, but hands over only what is asked for."""
    opened = apsw.Connection(str(tmp_path / "x.db"))
    opened.execute("CREATE TABLE events (key INTEGER PRIMARY KEY, text TEXT NOT NULL)")
    size = kept(opened, "word " * 400_000)
    found = passage(opened, 1, size, at=0.5, words=["word"])
    assert len(found.text) <= PASSAGE + 2
    assert 0.45 < found.passage.start / size < 0.55
    opened.close()
