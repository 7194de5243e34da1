"""Line formats: what the annotations of a class say of its lines, and where an error stands in a line."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from germane.errors import InvalidInput
from germane.transfer.formats import MEMORY
from germane.transfer.line_format import LineFormat, objects
from germane.transfer.lines import parse_line
from support.exported_things import LINES
from support.exported_things import MEMORY as A_MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """A thing with a field of each type that a format reads by itself."""

    id: str
    about: str = ""
    mood: str | None = None
    count: int = 0
    sure: bool = False
    weight: float = 1.0
    at: datetime | None = None
    kind: Literal["good", "bad"] = "good"
    tags: tuple[str, ...] = ()
    sound: bytes = b""


FULL = Mood(
    id="1",
    about="tea",
    mood="calm",
    count=2,
    sure=True,
    weight=0.5,
    at=datetime(2026, 1, 1, tzinfo=UTC),
    kind="bad",
    tags=("a",),
    sound=b"x",
)
MOOD = LineFormat(Mood, "a mood")


def test_annotations_alone_say_how_a_field_is_written_and_read() -> None:
    """No field needs an exception."""
    line = MOOD.write(FULL)
    assert MOOD.read(line) == FULL
    assert line["at"] == "2026-01-01T00:00:00+00:00"
    assert MOOD.read({"id": "1"}) == Mood(id="1")
    for name in line.keys() - {"weight"}:
        with pytest.raises(InvalidInput, match=name):
            MOOD.read(line | {name: 3.5})


def test_a_class_needs_a_reader_for_what_no_line_holds() -> None:
    """The format says so when it is made."""

    @dataclass(frozen=True, kw_only=True)
    class Odd:
        odd: complex

    Odd.__annotations__["odd"] = complex
    with pytest.raises(TypeError, match="complex"):
        LineFormat(Odd, "an odd thing")


@pytest.mark.parametrize("wrong", ["x" * 257, "\ud83d", 5, [], {}, True])
def test_a_text_without_a_limit_of_its_own_has_256_characters(wrong: Any) -> None:
    """So a new field can't hold more than somebody decided."""
    with pytest.raises(InvalidInput, match=r"^mood (has 257 characters, 256 are allowed|holds a lone|must be a string)"):
        MOOD.read({"id": "1", "mood": wrong})


def test_an_error_names_the_place_in_a_list() -> None:
    """Of an object in a list, and of a text."""
    read = objects(MOOD).read
    assert read is not None
    with pytest.raises(InvalidInput, match=r"^moods\[1\].count must be a whole number"):
        read("moods", [{"id": "1"}, {"id": "2", "count": -1}])
    with pytest.raises(InvalidInput, match=r"^branches\[0\]: a branch lacks its forked_at"):
        parse_line(LINES["StoredStack"] | {"branches": [{"name": "side"}]})


def test_a_line_of_a_memory_has_its_fields_in_their_order() -> None:
    """Files of two versions can be compared line by line."""
    assert [*MEMORY.write(A_MEMORY)] == [
        *("id", "kind", "body", "title", "created_at", "updated_at", "valid_from", "valid_to", "expires_at", "superseded_by"),
        *(
            "derived_from",
            "stale_since",
            "tags",
            "sensitivity",
            "confidence",
            "pinned",
            "helpful",
            "harmful",
            "retrieval_count",
        ),
        *("content_hash", "provenance"),
    ]
