"""Every field of an export: each is written, read back and checked, and those without a default may not be missing."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.conversations.value import ArchiveEntry, KeptEntry
from germane.kinds.memories.value import Episode, Fact, Note
from germane.transfer.contents import (
    Contents,
    Owned,
    Thing,
)
from germane.transfer.lines import HOLDS, line_of, parse_line, read_line, written
from germane.types.limits import (
    DIRECTIVE,
    ID,
    LABEL,
    MEMORY_TEXT,
    MESSAGE_TEXT,
    NAME,
    REMARK,
    SUMMARY_TEXT,
    TAG,
    TASK_GOAL,
    TASK_RESULT,
    Limit,
)
from germane_testing.builders import NOON, an_event
from support.exported_things import (
    ADA,
    BESIDE,
    LINES,
    MEMORY,
    WHOLE,
)

NEEDED = {
    "StoredDirective": {"text"},
    "Memory": {"id", "kind", "body", "created_at"},
    "ContradictionRecord": {"id", "reason", "older", "newer", "created_at"},
    "ArchivalEntry": {"id", "text", "created_at"},
    "SessionRecord": {"session", "next"},
    "Event": {"session", "position", "germane_id", "content", "created_at"},
    "TaskFrame": {"id", "session", "branch", "depth", "status", "goal", "created_at", "updated_at"},
    "StoredStack": {"session", "branch"},
    "KeptEntry": {"id", "session", "handle", "kind", "provider", "created_at"},
    "KeptSummary": {"id", "session", "fingerprint", "covers", "text", "tokens", "created_at"},
    "StoredBlock": {"id", "label", "schema", "text", "created_at", "updated_at"},
    "StoredEntity": {"id", "entity_type", "name", "salience", "salient_at", "created_at"},
    "StoredRelation": {"id", "source", "relation_type", "target", "valid_from", "created_at"},
    "StoredPattern": {"id", "action", "created_at"},
    "MarkedLine": {"line", "mark", "at"},
    "Tombstone": {"id", "what", "at"},
}
"""The fields without a default, as `docs/reference/export-lines.md` has them."""
CALLED = {"block_type": "type must be", "stated": "what was said"}
"""Fields that errors call otherwise."""
TOGETHER = {
    *(("ContradictionRecord", "resolved_at"), ("ContradictionRecord", "kept"), ("StoredBlock", "version")),
    *(("TaskFrame", "parent"), ("TaskFrame", "closed_at"), ("StoredStack", "branches")),
}
"""Fields that have a default, and may not be left out while another field of the line is set."""
ANY_TEXT = {
    *("body", "text", "content", "goal", "result", "title", "id", "germane_id", "by", "older", "parent", "task", "name", "line")
}
"""Fields of texts and ids."""
FEW = {
    *((kind, "sensitivity") for kind in LINES),
    *(("ContradictionRecord", "reason"), ("Event", "role"), ("Tombstone", "what"), ("KeptEntry", "kind")),
    *(("MarkedLine", "mark"), ("KeptSummary", "method"), ("TaskFrame", "status"), ("TaskFrame", "delegated")),
    *(("StoredBlock", "block_type"), ("StoredBlock", "permission")),
}
"""Fields that hold one of a few names."""
LIMITS = {
    "StoredDirective": {"text": DIRECTIVE, "id": ID},
    "Memory": {"id": ID, "kind": NAME, "body": MEMORY_TEXT, "title": MEMORY_TEXT, "superseded_by": ID},
    "ContradictionRecord": {"id": ID, "older": ID, "newer": ID, "kept": ID},
    "ArchivalEntry": {"id": ID, "text": MEMORY_TEXT},
    "SessionRecord": {"session": ID},
    "Event": {"session": ID, "id": ID, "germane_id": ID, "event_type": NAME, "name": NAME, "outcome": NAME, "task": ID}
    | {"content": MESSAGE_TEXT},
    "TaskFrame": {"id": ID, "session": ID, "branch": LABEL, "parent": ID, "goal": TASK_GOAL, "result": TASK_RESULT}
    | {"child_session": ID},
    "StoredStack": {"session": ID, "branch": LABEL},
    "KeptEntry": {"id": ID, "session": ID, "handle": ID, "provider": NAME, "title": REMARK, "previous": ID},
    "KeptSummary": {"id": ID, "session": ID, "fingerprint": ID, "text": SUMMARY_TEXT, "note": REMARK},
    "StoredBlock": {"id": ID, "text": MESSAGE_TEXT, "description": MESSAGE_TEXT},
    "StoredEntity": {"id": ID, "entity_type": TAG, "name": NAME},
    "StoredRelation": {"id": ID, "source": ID, "relation_type": TAG, "target": ID, "ended_by": ID},
    "StoredPattern": {"id": ID, "action": REMARK, "intent": TAG},
    "MarkedLine": {"line": ID},
    "Tombstone": {"id": ID, "by": REMARK, "reason": REMARK},
}
"""The limit of each text."""
INNER = [("StoredBlock", "versions"), ("StoredBlock", "shares"), ("StoredStack", "branches"), ("StoredStack", "checkpoints")]
"""Lists of objects."""
CASES = [(kind, name) for kind, line in LINES.items() for name in line if name not in BESIDE]


def defaults(thing: Any) -> dict[str, Any]:
    """The default of each field of a thing; None for those without one."""
    if hasattr(thing, "_field_defaults"):
        return {**dict.fromkeys(thing._fields), **thing._field_defaults}
    return {
        field.name: field.default_factory()
        if field.default_factory is not MISSING
        else None
        if field.default is MISSING
        else field.default
        for field in fields(thing)
    }


@pytest.mark.parametrize(("thing", "apart"), WHOLE, ids=lambda given: "" if isinstance(given, set) else type(given).__name__)
def test_every_field_comes_back(thing: Any, apart: Set[str]) -> None:
    """A further field stands at its default here, until this test sets it; then its line has to hold it."""
    assert {name for name, default in defaults(thing).items() if getattr(thing, name) == default} == apart
    if isinstance(thing, Fact | Episode | Note):
        thing = replace(MEMORY, content=thing, kind=type(thing).__name__.lower())
    owned = Owned(ADA, thing)
    if isinstance(thing, Thing):  # the others stand in the lines of these
        assert parse_line(read_line(written(line_of(owned)))) == owned


def test_the_header_counts_everything() -> None:
    """Each field of `Contents`, but the time of the latest change."""
    assert {field.name for field in fields(Contents)} - {"latest"} == set(HOLDS)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_every_field_is_checked(kind: str, name: str) -> None:
    """A number with a fraction is right for none but the value of a fact."""
    with pytest.raises(InvalidInput, match=CALLED.get(name, name)):
        parse_line(LINES[kind] | {name: 3.5})


@pytest.mark.parametrize(
    ("kind", "name", "field"), [(*inner, field) for inner in INNER for field in LINES[inner[0]][inner[1]][0]]
)
def test_every_field_of_an_object_inside_is_checked(kind: str, name: str, field: str) -> None:
    """Its type and, of a text, its length."""
    (one,) = LINES[kind][name]
    for wrong in (3.5, "x" * 4_000_001):
        with pytest.raises(InvalidInput, match=field):
            parse_line(LINES[kind] | {name: [one | {field: wrong}]})
    with pytest.raises(InvalidInput, match="a field 'mood'"):
        parse_line(LINES[kind] | {name: [one | {"mood": 1}]})


def test_who_made_a_version_is_an_agent_with_a_remark() -> None:
    """As long as both together, with a blank and brackets."""
    (one,) = LINES["StoredBlock"]["versions"]
    assert isinstance(parse_line(LINES["StoredBlock"] | {"versions": [one | {"by": "x" * 1_259}]}), Owned)
    with pytest.raises(InvalidInput, match="by has 1,260 characters"):
        parse_line(LINES["StoredBlock"] | {"versions": [one | {"by": "x" * 1_260}]})


@pytest.mark.parametrize(("kind", "name", "most"), [("StoredStack", "branches", 64), ("TaskFrame", "artifacts", 1_000)])
def test_a_list_that_is_too_long_is_refused(kind: str, name: str, most: int) -> None:
    """One entry more is too much."""
    with pytest.raises(InvalidInput, match=f"{name} has {most + 1:,} entries, {most:,} are allowed"):
        parse_line(LINES[kind] | {name: LINES[kind][name] * (most + 1)})


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_what_has_no_default_is_missed(kind: str, name: str) -> None:
    """Any other field may be left out, but for those that belong together."""
    line = {field: value for field, value in LINES[kind].items() if field != name}
    if name in NEEDED[kind]:
        with pytest.raises(InvalidInput, match=rf"(lacks|needs) its .*\b{name}"):
            parse_line(line)
    elif (kind, name) in TOGETHER:
        with pytest.raises(InvalidInput, match=name.removesuffix("es")):
            parse_line(line)
    else:
        assert isinstance(parse_line(line), Owned)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in CASES if isinstance(LINES[kind][name], str)])
def test_a_text_that_is_too_long_isnt_repeated(kind: str, name: str) -> None:
    """Neither its beginning nor its end; but what should be one of a few names is shown."""
    with pytest.raises(InvalidInput) as told:
        parse_line(LINES[kind] | {name: "between us " * 400_000})
    assert (kind, name) in FEW or "between" not in str(told.value)


@pytest.mark.parametrize(("kind", "name", "limit"), [(kind, *pair) for kind, texts in LIMITS.items() for pair in texts.items()])
def test_every_text_has_its_limit(kind: str, name: str, limit: Limit) -> None:
    """One character more is too much."""
    with pytest.raises(InvalidInput, match=f"{name} has {limit.maximum + 1:,} characters, {limit.maximum:,} are allowed"):
        parse_line(LINES[kind] | {name: "x" * (limit.maximum + 1)})


@pytest.mark.parametrize("kind", LINES)
def test_a_field_that_nobody_knows_is_refused(kind: str) -> None:
    """Its name is told as far as 40 characters."""
    with pytest.raises(InvalidInput, match=r"has a field 'mo{39}'… \(100 characters\) that this germane doesn't know"):
        parse_line(LINES[kind] | {"m" + "o" * 99: 1})


@pytest.mark.parametrize(("kind", "name"), [("SessionRecord", "next"), ("Memory", "harmful"), ("KeptSummary", "tokens")])
def test_counts_end_where_numbers_of_json_arent_exact(kind: str, name: str) -> None:
    """At 2 to the power of 53."""
    assert isinstance(parse_line(LINES[kind] | {name: (1 << 53) - 1}), Owned)
    for wrong in (1 << 53, -1, True, "1", None):
        with pytest.raises(InvalidInput, match=f"{name} must be a whole number from 0 to 9,007,199,254,740,991"):
            parse_line(LINES[kind] | {name: wrong})


@pytest.mark.parametrize(("kind", "name"), [("Event", "raw"), ("ArchivalEntry", "metadata")])
def test_an_object_is_bounded_and_holds_json(kind: str, name: str) -> None:
    """Too many values and levels are refused, and what is no JSON is dropped."""
    deep: Any = {}
    for _ in range(99):
        deep = {"x": deep}
    for wrong in (deep, {"x": [0] * 100_000}, {"x": 1 << 2_000}):
        with pytest.raises(InvalidInput, match=f"{name}.* (levels|values|bits)"):
            parse_line(LINES[kind] | {name: wrong})
    found: Any = parse_line(LINES[kind] | {name: {"n": float("nan"), "x": [1, "\ud83d"]}})
    assert getattr(found.thing, name) == {"x": [1, "\ufffd"]}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, name in CASES if name in ANY_TEXT])
def test_half_a_character_is_refused(kind: str, name: str) -> None:
    """But in what a compaction kept, which is verbatim."""
    line = LINES[kind] | {name: "\ud83d"}
    if (kind, name) in {("KeptEntry", "title"), ("KeptSummary", "text")}:
        assert isinstance(parse_line(line), Owned)
    else:
        with pytest.raises(InvalidInput, match="lone surrogate"):
            parse_line(line)


@pytest.mark.parametrize("kind", ["Memory", "Event", "TaskFrame"])
@pytest.mark.parametrize(
    "provenance",
    [{"refs": 5}, {"refs": "abc"}, {"refs": None}, {"refs": [5]}, {"metadata": None}, {"metadata": {"n": float("nan")}}, None,
     {"channel": "x" * 257}, {"message_id": 5}, {"tool_call_id": 5}, {"source_kind": None}, {"source_kind": []}, {"x": 1}],
)  # fmt: skip
def test_a_provenance_is_checked(kind: str, provenance: Any) -> None:
    """The same wherever it stands."""
    with pytest.raises(InvalidInput, match="provenance"):
        parse_line(LINES[kind] | {"provenance": provenance})


def test_only_a_message_has_long_ids_of_tool_calls() -> None:
    """They are the provider's."""
    long = {"provenance": {"tool_call_id": "c" * 257}}
    said: Any = parse_line(LINES["Event"] | long)
    assert len(said.thing.provenance.tool_call_id) == 257
    for kind in ("Memory", "TaskFrame"):
        with pytest.raises(InvalidInput, match="tool_call_id has 257"):
            parse_line(LINES[kind] | long)


def test_an_archived_entry_comes_back() -> None:
    """With every field."""
    entry = ArchiveEntry(
        handle="h", kind="output", provider="openai", title="\ud83d", previous="g", part=2, messages=({"a": 1},)
    )
    owned = Owned(ADA, KeptEntry(id="k", session="s", entry=entry, created_at=NOON))
    assert parse_line(read_line(written(line_of(owned)))) == owned


def test_an_event_that_is_no_message_comes_back() -> None:
    """Its position is below 0, and not below the first one."""
    event = an_event("done", user="ada", position=-(1 << 30), type="file_read", role="", created_at=NOON)
    line = line_of(Owned(ADA, event))
    assert parse_line(line) == Owned(ADA, event)
    with pytest.raises(InvalidInput, match="position must be a whole number"):
        parse_line(line | {"position": -(1 << 30) - 1})
