"""Compose: each kind takes its own fields and nothing else (MEM-1)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from germane.errors import InvalidInput, UnknownName
from germane.kinds.memories.fields import MAIN_FIELDS, compose
from germane.kinds.memories.value import KINDS, Behavior, Content, Episode, Fact, Note, Preference, Procedure

pytestmark = pytest.mark.requirement("MEM-1")


@pytest.mark.parametrize(
    ("kind", "given", "content"),
    [
        ("fact", {"key": "city"}, Fact(key="city", value="Vienna")),
        ("preference", {}, Preference(text="Vienna")),
        ("procedure", {"title": "Trip"}, Procedure(body="Vienna", title="Trip")),
        ("behavior", {}, Behavior(text="Vienna")),
        ("episode", {}, Episode(summary="Vienna")),
        ("note", {}, Note(body="Vienna")),
    ],
)
def test_the_text_is_the_main_field_of_its_kind(kind: str, given: dict[str, Any], content: Content) -> None:
    """One positional text serves every kind."""
    assert compose("Vienna", kind=kind, given=given) == content
    assert compose(kind=kind, given={**given, MAIN_FIELDS[kind]: "Vienna"}) == content


def test_every_kind_has_a_main_field() -> None:
    """The two tables name the same kinds."""
    assert set(MAIN_FIELDS) == set(KINDS)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    """The message lists what there is."""
    with pytest.raises(UnknownName, match=r"'opinion'.*fact, preference, procedure, behavior, episode, note"):
        compose("x", kind="opinion", given={})


def test_a_field_of_another_kind_is_refused_with_the_allowed_ones() -> None:
    """Unknown fields are never dropped silently."""
    with pytest.raises(InvalidInput, match="a note has no key, observed_at: its fields are body, title"):
        compose("x", given={"key": "city", "observed_at": None})


@pytest.mark.parametrize(
    ("kind", "missing"), [("a fact", "its key and its value"), ("a note", "its body"), ("an episode", "its summary")]
)
def test_what_is_missing_is_named(kind: str, missing: str) -> None:
    """A kind's needed fields have no defaults."""
    with pytest.raises(InvalidInput, match=f"^{kind} needs {missing}$"):
        compose(kind=kind.split()[1], given={})


@pytest.mark.parametrize("value", [float("nan"), [1.5, {"a": float("inf")}]])
def test_a_number_that_json_lacks_is_named(value: object) -> None:
    """NaN and infinities, however deep."""
    with pytest.raises(InvalidInput, match="value can't be written as JSON: NaN and infinities aren't JSON"):
        compose(kind="fact", given={"key": "k", "value": value})


def test_the_main_field_cannot_be_given_twice() -> None:
    """Text and field of the same meaning contradict each other."""
    with pytest.raises(InvalidInput, match="value is given twice"):
        compose("Vienna", kind="fact", given={"key": "city", "value": "Graz"})


@pytest.mark.parametrize("value", [0, False, None, 1.5, [1, "a"], {"a": {"b": [None]}}])
def test_a_fact_takes_any_json_value(value: object) -> None:
    """Values come back as they were given."""
    assert compose(kind="fact", given={"key": "k", "value": value}) == Fact(key="k", value=value)


_CIRCLE: list[object] = []
_CIRCLE.append(_CIRCLE)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1, 2}, object(), b"bytes", _CIRCLE, ["\ud800"], {"a": "\udfff"}]
)
def test_a_value_json_cannot_hold_is_refused(value: object) -> None:
    """Neither NaN, nor objects, nor circles, nor broken Unicode."""
    with pytest.raises(InvalidInput, match="value"):
        compose(kind="fact", given={"key": "k", "value": value})


@pytest.mark.parametrize("text", ["", "  \n", "\ud83d", "x" * 100_001, 7])
def test_empty_broken_and_huge_texts_are_refused(text: Any) -> None:
    """The message names the field, not what was in it."""
    with pytest.raises(InvalidInput, match=r"^body ") as raised:
        compose(text, given={})
    assert "xxx" not in str(raised.value)


@pytest.mark.parametrize("key", ["", " ", "a\x00b", "k" * 257, 3, None])
def test_a_key_is_a_short_name(key: Any) -> None:
    """Blank, long and unprintable keys are refused."""
    with pytest.raises(InvalidInput, match=r"^key must"):
        compose("x", kind="fact", given={"key": key})


@pytest.mark.requirement("SCOPE-4")
@pytest.mark.parametrize("at", [datetime(2024, 7, 1, 12), "2024-07-01T12:00"])
def test_a_naive_time_is_local_time_of_the_zone(at: object) -> None:
    """Noon in Vienna's summer is ten o'clock in UTC."""
    content = compose("Moved", kind="episode", given={"occurred_at": at}, zone="Europe/Vienna")
    assert content == Episode(summary="Moved", occurred_at=datetime(2024, 7, 1, 10, tzinfo=UTC))


@pytest.mark.parametrize("at", ["yesterday", 1700000000])
def test_what_is_not_a_time_is_refused(at: object) -> None:
    """Numbers are ambiguous: seconds or milliseconds."""
    with pytest.raises(InvalidInput, match="occurred_at"):
        compose("Moved", kind="episode", given={"occurred_at": at})
