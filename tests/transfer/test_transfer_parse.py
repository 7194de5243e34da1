"""The lines of an export: what is written is read back, and whatever else stands in a file is refused with its reason."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.value import Memory
from germane.transfer.contents import Contents, Owned, Owner, Reach, SessionRecord, StoredDirective
from germane.transfer.lines import VERSION, Header, header_line, line_of, parse_line, read_line, written
from germane.types.candidate import Provenance
from germane.types.inventory import Tombstone
from germane_testing.builders import NOON, a_memory, an_event

ADA = Owner("acme", "support", "ada")
THINGS: list[Any] = [
    StoredDirective("Be kind"),
    *(a_memory(f"A {kind}", kind, user="ada") for kind in ("fact", "preference", "procedure", "behavior", "episode", "note")),
    a_memory("odd \x00 \u202e \x7f", user="ada", tags=("a", "b"), valid_to=NOON, expires_at=NOON, superseded_by="x", helpful=3),
    SessionRecord(id="s", next=7, length=2, started_at=NOON, last_at=NOON),
    an_event("hi", user="ada", message_id="m", name="Ada", raw={"n": [1.5, None]}, provenance=Provenance(channel="mail")),
    Tombstone(id="t", what="message", at=NOON, by="me", reason="asked"),
    ContradictionRecord(id="c", reason="number", older="a", newer="b", created_at=NOON, resolved_at=NOON, kept="both"),
]


@pytest.mark.requirement("MEM-3")
@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_a_line_is_read_back_as_it_was_written(thing: Any) -> None:
    """Each kind of thing, with every field."""
    line = written(line_of(Owned(ADA, thing)))
    assert "\u202e" not in line
    assert "\x7f" not in line
    assert parse_line(read_line(line)) == Owned(ADA, thing)
    assert parse_line(read_line(line.encode())) == Owned(ADA, thing)


def test_a_header_is_read_back() -> None:
    """But for the time of the latest change, which is for people."""
    for reach in (
        Reach(),
        Reach(org="acme"),
        Reach(org="acme", agent="a", all_users=True),
        Reach(org="o", agent="a", user="u"),
    ):
        line = written(header_line(reach, Contents(memories=3, latest=NOON)))
        assert parse_line(read_line(line)) == Header(reach, Contents(memories=3))


def test_what_has_a_default_may_be_left_out() -> None:
    """A line that was written by hand needs little."""
    owner = {"org": "o", "agent": "a", "user": None}
    memory = {"type": "memory", **owner, "id": "1", "kind": "note", "body": "x", "created_at": "2026-01-01T00:00:00Z"}
    message = {"type": "message", **owner, "session": "s", "position": 0, "germane_id": "2", "role": "user", "content": "hi"}
    found = parse_line(memory)
    assert isinstance(found, Owned)
    assert isinstance(found.thing, Memory)
    assert found.thing.valid_from == found.thing.created_at
    said: Any = parse_line(message | {"created_at": "2026-01-01T00:00:00Z"})
    assert said.thing.content_hash == an_event("hi").content_hash
    assert said.thing.provenance.source_kind == "import"


def changed(number: int, **fields: Any) -> dict[str, Any]:
    line = json.loads(written(line_of(Owned(ADA, THINGS[number]))))
    return {name: value for name, value in (line | fields).items() if value != "gone"}


def header(**fields: Any) -> dict[str, Any]:
    line = header_line(Reach(), Contents()) | fields
    return {name: value for name, value in line.items() if value != "gone"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"type": "poem"}, "type must be one of"),
        ({}, "type must be one of"),
        (changed(0, org=None), "org is missing"),
        (changed(0, org="gone"), "org is missing"),
        (changed(0, agent=""), "agent must have 1 to 256"),
        (changed(0, user=7), "user must be a string"),
        (changed(0, text=" "), "text is empty"),
        (changed(0, text="x" * 100_001), "text has 100,001 characters"),
        (changed(0, text="\ud800"), "lone surrogate"),
        (changed(1, kind="poem"), "kind .* is unknown"),
        (changed(1, value=float("inf")), "can't be written as JSON"),
        (changed(2, text="gone"), "needs its text"),
        (changed(2, created_at="gone"), "lacks its created_at"),
        (changed(2, created_at="soon"), "created_at isn't a time"),
        (changed(2, created_at=5), "created_at must be a string"),
        (changed(2, created_at="0001-01-01T00:00:00+14:00"), "outside the years"),
        (changed(2, confidence=1.5), "confidence must be a number from 0 to 1"),
        (changed(2, confidence=float("nan")), "confidence must be a number from 0 to 1"),
        (changed(2, helpful=-1), "helpful must be a whole number"),
        (changed(2, retrieval_count=1 << 60), "retrieval_count must be"),
        (
            changed(2, content_hash=1 << 63),
            "content_hash must be a whole number from -9,223,372,036,854,775,808 to 9,223,372,036,854,775,807",
        ),
        (changed(2, sensitivity="secret"), "sensitivity"),
        (changed(2, pinned="yes"), "pinned must be true or false"),
        (changed(2, tags="pets"), "tags must be a list"),
        (changed(2, mood="good"), "'mood' that this germane doesn't know"),
        (changed(2, id="x" * 257), "id has 257 characters"),
        (changed(2, provenance=[]), "provenance must be an object"),
        (changed(2, provenance={"source_kind": "spy"}), "source_kind"),
        (changed(8, session=""), "session is empty"),
        (changed(8, session="a\nb"), "session must not hold control characters"),
        (changed(8, next=-1), "next must be a whole number"),
        (changed(9, germane_id="gone"), "lacks its germane_id"),
        (changed(9, content="gone"), "lacks its content"),
        (changed(9, content="x" * 4_000_001), "content has 4,000,001"),
        (changed(9, content="\udfff"), "lone surrogate"),
        (changed(9, role="pirate"), "role must be one of"),
        (changed(9, position=True), "position must be"),
        (changed(9, raw=[1]), "raw must be an object"),
        (changed(9, text="hello"), "'text' that this germane doesn't know"),
        (changed(11, reason="taste"), "reason must be one of same_time"),
        (changed(11, newer="a"), "older and newer are the same"),
        (changed(11, kept="c"), "kept must be the id of one of the two memories, or both"),
        (changed(11, kept=None), "has resolved_at and kept"),
        (changed(11, resolved_at=None), "an open one neither"),
        (changed(11, older="gone"), "lacks its older"),
        (changed(10, what="poem"), "what must be one of memory, message, block"),
        (changed(10, reason="x" * 1001), "reason has 1,001"),
        ({"type": "header", "format": "other"}, "format must be"),
        ({"type": "header", "format": "germane-export", "version": VERSION + 1}, "upgrade germane"),
        ({"type": "header", "format": "germane-export", "version": "1"}, "version must be a whole number"),
        ({"type": "header", "format": "germane-export", "version": True}, "version must be a whole number"),
        ({"type": "header", "format": "germane-export", "version": 0}, "version must be a whole number from 1"),
        ({"type": "header", "format": "germane-export"}, "lacks its version"),
        ({"type": "header", "format": "germane-export", "version": 1}, "lacks its scope"),
        (header(holds="gone"), "lacks its holds"),
        (header(holds=[]), "holds must be an object"),
        (header(holds={"memories": -1}), "memories must be a whole number"),
        (header(holds={"poems": 1}), "holds has a field 'poems'"),
        (header(scope=[]), "scope must be an object"),
        (header(scope={"org": 5}), "org must be a string"),
        (header(scope={"org": ""}), "org is empty"),
        (header(scope={"agent": "a"}), "an agent is named, but not its org"),
        (header(scope={"all_users": 1}), "all_users must be true or false"),
        (header(scope={"poet": "a"}), "scope has a field 'poet'"),
        (header(latest="soon"), "latest isn't a time"),
        (header(mood="good"), "the header has a field 'mood'"),
    ],
)
def test_a_bad_line_is_refused_with_its_field(line: dict[str, Any], said: str) -> None:
    """The message names the field, and holds no content."""
    with pytest.raises(InvalidInput, match=said.replace("(", r"\(")):
        parse_line(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [("{oops", "isn't JSON"), ("[1]", "must be an object"), (b'{"a": "\xff"}', "isn't UTF-8 at byte 8"), ("[" * 9000, "JSON"),
     ('{"a": NaN}', "NaN"), ('{"a": Infinity}', "Infinity")],
)  # fmt: skip
def test_what_is_no_json_is_refused(line: Any, said: str) -> None:
    """NaN and infinities are no JSON."""
    with pytest.raises(InvalidInput, match=said):
        read_line(line)


_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(range(len(THINGS))), st.data())
def test_no_value_whatever_makes_the_reader_fall_over(number: int, data: st.DataObject) -> None:
    """Any field of any line with any value gives a thing or `InvalidInput`."""
    line = changed(number)
    line[data.draw(st.sampled_from(sorted(line)))] = data.draw(_values)
    with suppress(InvalidInput):
        assert isinstance(parse_line(line), Owned | Header)
