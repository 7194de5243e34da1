"""Block document: editing, versions, damage, and what Loro does that the rest relies on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput, MissingExtra, NotFound, StoreCorrupt
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import (
    AppendEntry,
    AppendText,
    AppendToField,
    CheckItem,
    DeleteItem,
    Increment,
    InsertItem,
    InsertLines,
    MoveItem,
    Mutation,
    PushItem,
    ReplaceText,
    SetField,
    SetText,
    SetValue,
    UpdateItem,
)
from germane.kinds.blocks.schema import ListSchema, TextSchema, parse_schema
from support.steps import growth, steps

TEXT = TextSchema()
TASK = parse_schema({"type": "list", "checkboxes": True, "max_items": 3})
FACTS = parse_schema(
    {
        "type": "map",
        "fields": [
            {"name": "name", "required": True},
            {"name": "state", "default": "open"},
            {"name": "size", "type": "number"},
            {"name": "tags", "type": "list"},
            {"name": "count", "type": "counter", "default": 3},
            {"name": "owner", "read_only": True},
        ],
    }
)
BOTH = parse_schema(
    {
        "type": "composite",
        "sections": [{"name": "notes"}, {"name": "facts", "schema": FACTS.as_dict()}, {"name": "fixed", "read_only": True}],
    }
)


def facts() -> BlockDocument:
    return BlockDocument.new(FACTS, {"name": "Ana"})


@pytest.mark.parametrize(
    ("before", "mutation", "after"),
    [
        ("a", SetText(text="🙂b"), "🙂b"),
        ("🙂", AppendText(text="\0é"), "🙂\0é"),
        ("🙂 one two", ReplaceText(old="one", new="1"), "🙂 1 two"),
        ("", InsertLines(line=0, text="x"), "x"),
        ("a\nb", InsertLines(line=0, text="x"), "x\na\nb"),
        ("a\nb", InsertLines(line=1, text="x\ny\n"), "a\nx\ny\nb"),
        ("a\nb", InsertLines(line=2, text="x"), "a\nb\nx"),
        ("a\nb\n", InsertLines(line=2, text="x"), "a\nb\nx\n"),
    ],
)
def test_a_text_is_edited(before: str, mutation: Mutation, after: str) -> None:
    """Positions are code points, also behind characters beyond the first plane."""
    document = BlockDocument.new(TEXT, before)
    document.apply(mutation)
    assert document.value() == document.text() == after


def test_a_list_is_edited() -> None:
    """Items keep whether they are done when they move and change."""
    document = BlockDocument.new(TASK, ["a", {"value": "b", "done": True}])
    document.apply(MoveItem(index=1, to=0), UpdateItem(index=0, value="B"), InsertItem(index=1, value="c"), CheckItem(index=2))
    assert document.value() == [
        {"value": "B", "done": True},
        {"value": "c", "done": False},
        {"value": "a", "done": True},
    ]
    document.apply(DeleteItem(index=1), PushItem(value="d", done=True))
    assert document.text() == "[x] B\n[x] a\n[x] d"


def test_a_map_has_defaults_and_typed_fields() -> None:
    """None gives a field its default back."""
    document = facts()
    document.apply(
        SetField(field="state", value="shut"),
        SetField(field="size", value=1.0),
        AppendToField(field="tags", value="x"),
        AppendToField(field="name", value=" B."),
        Increment(field="count", by=-5),
    )
    assert document.value() == {"name": "Ana B.", "state": "shut", "size": 1.0, "tags": ["x"], "count": -2, "owner": ""}
    document.apply(SetField(field="state", value=None), SetField(field="size", value=None), SetField(field="count", value=9))
    assert (document.value()["state"], document.value()["size"], document.value()["count"]) == ("open", None, 9)


def test_a_log_says_who_and_when_and_drops_the_oldest() -> None:
    """Time and author come from whoever applies the entry."""
    document = BlockDocument.new(parse_schema({"type": "log", "agent": True, "max_entries": 2}))
    for text in ("one", "two", "three"):
        document.apply(AppendEntry(text=text), at=datetime(2026, 5, 8, tzinfo=UTC), by="ana")
    assert document.text() == "- [2026-05-08T00:00:00Z] (ana) three\n- [2026-05-08T00:00:00Z] (ana) two"


REFUSED: list[tuple[Any, Any, Mutation, str]] = [
    (TEXT, "a", PushItem(value="x"), "the block is a text"),
    (TEXT, "a", SetText(text="x", section="notes"), "has no sections"),
    (TEXT, "a a", ReplaceText(old="a", new="b"), "more than once"),
    (TEXT, "aaa", ReplaceText(old="aa", new="b"), "more than once"),
    (TEXT, "a", ReplaceText(old="b", new="c"), "doesn't occur"),
    (TEXT, "a", ReplaceText(old="", new="c"), "old is empty"),
    (TEXT, "a", InsertLines(line=2, text="x"), "has 1 lines"),
    (TEXT, "a", SetText(text="x" * 100_001), "100,000"),
    (TEXT, "x" * 99_999, AppendText(text="xx"), "100,000"),
    (TEXT, "a", SetValue(value=3), "string"),
    (TASK, ["a"], CheckItem(index=1), "index 1 doesn't exist"),
    (TASK, ["a"], DeleteItem(index=1), "index 1 doesn't exist"),
    (TASK, ["a"], InsertItem(index=2, value="x"), "index 2 doesn't exist"),
    (TASK, ["a"], PushItem(value={"x": 1}), "string"),
    (TASK, ["a", "b", "c"], PushItem(value="d"), "3 are allowed"),
    (TASK, [], SetValue(value=["a"] * 4), "3 are allowed"),
    (parse_schema("list"), ["a"], CheckItem(index=0), "no checkboxes"),
    (parse_schema({"type": "list", "item": "object"}), [], PushItem(value={"x": float("nan")}), "finite"),
    (parse_schema("log"), None, SetValue(value=["x"]), "add entries"),
    (FACTS, {"name": "a"}, SetField(field="nmae", value="x"), "its fields are"),
    (FACTS, {"name": "a"}, SetField(field="name", value=None), "required"),
    (FACTS, {"name": "a"}, SetField(field="size", value="3"), "number"),
    (FACTS, {"name": "a"}, SetField(field="owner", value="x"), "read-only"),
    (FACTS, {"name": "a"}, Increment(field="size"), "no counter"),
    (FACTS, {"name": "a"}, Increment(field="count", by=2**53), "2⁵³"),
    (FACTS, {"name": "a"}, AppendToField(field="size", value=1), "only a text or a list"),
    (FACTS, {"name": "a"}, SetValue(value={"name": "a", "x": 1}), "no field"),
    (BOTH, {"facts": {"name": "a"}}, SetText(text="x"), "say which"),
    (BOTH, {"facts": {"name": "a"}}, SetText(text="x", section="note"), "they are notes"),
    (BOTH, {"facts": {"name": "a"}}, SetText(text="x", section="facts"), "is a map"),
    (BOTH, {"facts": {"name": "a"}}, SetText(text="x", section="fixed"), "read-only"),
]


@pytest.mark.parametrize(("schema", "value", "mutation", "why"), REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(schema: Any, value: Any, mutation: Mutation, why: str) -> None:
    """Neither alone nor after a mutation that would fit."""
    document = BlockDocument.new(schema, None if schema.kind == "log" else value)
    if schema.kind == "log":
        document.apply(AppendEntry(text="there"))
    before, state = document.value(), document.frontiers()
    fine: dict[str, Mutation] = {
        "text": AppendText(text="!"),
        "list": SetValue(value=[]),
        "map": SetField(field="state", value="x"),
        "log": AppendEntry(text="x"),
        "composite": AppendText(text="!", section="notes"),
    }
    for mutations in ((mutation,), (fine[schema.kind], mutation)):
        if schema.kind == "list" and len(mutations) > 1:
            continue
        with pytest.raises(InvalidInput, match=why):
            document.apply(*mutations)
        assert (document.value(), document.frontiers()) == (before, state)


def test_a_required_field_needs_a_value_from_the_beginning() -> None:
    """And a system operation may fill what is read-only."""
    with pytest.raises(InvalidInput, match=r"value.name is required"):
        BlockDocument.new(FACTS)
    document = facts()
    document.apply(SetField(field="owner", value="ops"), system=True)
    assert "owner [read-only]: ops" in document.text()


def test_what_is_written_to_a_section_is_rendered_there() -> None:
    """Each section has a place of its own, also where names are alike."""
    document = BlockDocument.new(BOTH, {"facts": {"name": "Ana"}})
    document.apply(SetText(text="hello", section="notes"), SetField(field="state", value="shut", section="facts"))
    document.apply(SetText(text="law", section="fixed"), system=True)
    assert document.text().startswith("=== notes ===\nhello\n\n=== facts ===\nname: Ana\nstate: shut\n")
    assert document.text().endswith("=== fixed [read-only] ===\nlaw")


def test_a_delta_brings_another_copy_to_the_same_state_in_any_order_and_twice() -> None:
    """A delta that comes too early waits for the earlier one."""
    ours = BlockDocument.new(TEXT, "a")
    theirs = BlockDocument.load(TEXT, ours.snapshot())
    states, deltas = [ours.frontiers()], []
    for text in ("b", "c"):
        ours.apply(AppendText(text=text))
        deltas.append(ours.delta(states[-1]))
        states.append(ours.frontiers())
    assert [theirs.merge(delta) for delta in (deltas[1], deltas[0], deltas[1])] == [False, True, True]
    assert theirs.value() == ours.value() == "abc"
    assert theirs.frontiers() == ours.frontiers()


def test_a_past_version_is_shown_and_can_not_be_edited() -> None:
    """Versions before the oldest kept one are gone."""
    document = BlockDocument.new(TEXT, "a")
    first = document.frontiers()
    document.apply(AppendText(text="b"))
    kept = document.frontiers()
    document.apply(AppendText(text="c"))
    assert [document.at(one).value() for one in (first, kept, document.frontiers())] == ["a", "ab", "abc"]
    with pytest.raises(InvalidInput, match="past version"):
        document.at(first).apply(AppendText(text="x"))
    again = BlockDocument.load(TEXT, document.snapshot(keep=kept))
    assert again.at(kept).value() == "ab"
    assert (again.knows(kept), again.knows(first)) == (True, False)
    for gone in (first, b"", b"\xff" * 9, BlockDocument.new(TEXT, "other").frontiers()):
        for use in (
            again.at,
            again.delta,
            again.snapshot,
            lambda one: again.inverse(one, kept),
            lambda one: again.rewrite("x", one),
        ):
            with pytest.raises(NotFound, match="isn't kept"):
                use(gone)
    assert again.value() == "abc"


def test_an_edit_is_taken_back_and_what_came_later_stays() -> None:
    """Undo and redo of every kind of value, with counters exact."""
    document = facts()
    before = document.frontiers()
    document.apply(
        Increment(field="count", by=7),
        SetField(field="state", value="shut"),
        AppendToField(field="tags", value="x"),
        AppendToField(field="name", value=" B."),
    )
    after = document.frontiers()
    document.apply(
        Increment(field="count", by=100), AppendToField(field="tags", value="y"), AppendToField(field="name", value=" C.")
    )
    began = document.frontiers()
    assert document.inverse(before, after)
    undone = document.value()
    assert (undone["count"], undone["state"], undone["tags"], undone["name"]) == (103, "open", ["y"], "Ana C.")
    assert document.inverse(began, document.frontiers())
    again = document.value()
    assert (again["count"], again["state"], sorted(again["tags"])) == (110, "shut", ["x", "y"])
    assert "B." in again["name"]


def test_undo_leaves_a_value_that_somebody_changed_since() -> None:
    """The later change stays."""
    document = facts()
    before = document.frontiers()
    document.apply(SetField(field="state", value="shut"))
    after = document.frontiers()
    document.apply(SetField(field="state", value="sold"))
    assert not document.inverse(before, after)
    assert document.value()["state"] == "sold"


def test_undo_in_a_text_leaves_words_that_somebody_replaced_since() -> None:
    """What the edit removed elsewhere comes back."""
    document = BlockDocument.new(TEXT, "one two three four")
    before = document.frontiers()
    document.apply(SetText(text="one 2 three"))
    after = document.frontiers()
    document.apply(ReplaceText(old="2", new="TWO"))
    assert document.inverse(before, after)
    assert document.value() == "one TWO three four"


def test_undo_may_not_write_what_is_read_only() -> None:
    """A system operation may."""
    document = facts()
    before = document.frontiers()
    document.apply(SetField(field="owner", value="ops"), system=True)
    after = document.frontiers()
    with pytest.raises(InvalidInput, match="read-only"):
        document.inverse(before, after)
    assert document.inverse(before, after, system=True)


@given(st.lists(st.sampled_from(["a", "b c", "", "x\n", "日本", "🙂"]), min_size=1, max_size=8))
def test_undo_after_undo_goes_back_through_every_state(texts: list[str]) -> None:
    """Each state comes back exactly, in reverse."""
    document = BlockDocument.new(TEXT, "begin")
    states = [(document.frontiers(), document.value())]
    for text in texts:
        document.apply(SetText(text=text))
        states.append((document.frontiers(), document.value()))
    for (before, value), (after, _) in zip(reversed(states[:-1]), reversed(states[1:]), strict=True):
        document.inverse(before, after)
        assert document.value() == value


def test_a_fork_is_a_draft_of_the_same_editor() -> None:
    """The original stays, and takes the draft's delta."""
    document = BlockDocument.new(TEXT, "a", peer=7)
    draft = document.fork()
    draft.apply(AppendText(text="b"))
    assert (document.value(), draft.value(), draft.peer) == ("a", "ab", 7)
    assert document.merge(draft.delta(document.frontiers()))
    assert document.value() == "ab"


def test_one_peer_keeps_the_document_small() -> None:
    """Edits of one peer add a few bytes each, edits of new peers stay as peers."""
    one, many = BlockDocument.new(TEXT, "a", peer=1), BlockDocument.new(TEXT, "a", peer=1)
    for number in range(200):
        one.apply(SetText(text=f"t{number}"))
        other = BlockDocument.load(TEXT, many.snapshot(), peer=number + 2)
        other.apply(SetText(text=f"t{number}"))
        many = other
    assert len(one.snapshot()) < 400 < 800 < len(many.snapshot())


def test_damage_is_told_by_an_error_of_germane() -> None:
    """Every single changed byte either is noticed or changes nothing."""
    document = BlockDocument.new(TEXT, "secret words")
    begin = document.frontiers()
    document.apply(AppendText(text=" more"))
    snapshot, delta = document.snapshot(keep=begin), document.delta(begin)
    other = BlockDocument.new(TEXT, "x").snapshot()
    loads: list[tuple[bytes, Callable[[bytes], BlockDocument]]] = [
        (snapshot, lambda bad: BlockDocument.load(TEXT, bad)),
        (delta, lambda bad: BlockDocument.load(TEXT, other, [bad])),
    ]
    for good, load in loads:
        for index in range(len(good)):
            changed = bytearray(good)
            changed[index] ^= 0xFF
            with suppress(StoreCorrupt):
                assert load(bytes(changed)).value() == "secret words more"
    for bad in (b"", b"x", snapshot[:-1], snapshot[: len(snapshot) // 2], delta + b"x"):
        with pytest.raises(StoreCorrupt):
            BlockDocument.load(TEXT, bad)
    with pytest.raises(StoreCorrupt):
        document.merge(b"loro")
    assert document.value() == "secret words more"


def test_a_missing_delta_is_noticed_when_a_document_is_loaded() -> None:
    """The later one builds on it."""
    document = BlockDocument.new(TEXT, "a")
    snapshot = document.snapshot()
    document.apply(AppendText(text="b"))
    middle = document.frontiers()
    document.apply(AppendText(text="c"))
    with pytest.raises(StoreCorrupt, match="missing"):
        BlockDocument.load(TEXT, snapshot, [document.delta(middle)])


def test_without_the_extra_a_document_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything else of blocks can be imported."""
    monkeypatch.setitem(sys.modules, "loro", None)
    with pytest.raises(MissingExtra, match=r"germane\[blocks\]"):
        BlockDocument.new(TEXT)


class PanicException(BaseException):
    """As the one of Loro's binding, which no other class is a base of."""


STEPS: dict[str, Callable[[BlockDocument], object]] = {
    "value": lambda document: document.value(),
    "text": lambda document: document.text(),
    "frontiers": lambda document: document.frontiers(),
    "fork": lambda document: document.fork(),
    "at": lambda document: document.at(b"x"),
    "apply": lambda document: document.apply(AppendText(text="x")),
    "rewrite": lambda document: document.rewrite("x", b"x"),
    "inverse": lambda document: document.inverse(b"x", b"x"),
    "delta": lambda document: document.delta(b"x"),
    "snapshot": lambda document: document.snapshot(),
    "merge": lambda document: document.merge(b"x"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_document_that_panics_later_is_corrupt_too(step: str) -> None:
    """Damage that reading doesn't notice ends no step with an error that nothing catches."""

    class Broken:
        def __getattr__(self, name: str) -> object:
            raise PanicException("range start index 7 out of range, and some content")

    document = BlockDocument(cast("Any", Broken()), TextSchema())
    with pytest.raises(StoreCorrupt) as error:
        STEPS[step](document)
    assert "content" not in str(error.value)


@pytest.mark.requirement("BLK-4", "LIMITS-2")
def test_a_batch_is_written_once() -> None:
    """A thousand additions to one long word, or to a list, take a step or so each in the document."""
    document = BlockDocument.new(TEXT, "x" * 9_000)
    batch = [AppendText(text="y")] * 400
    assert steps(lambda: document.apply(*batch)) < 200 * len(batch)
    assert document.value() == "x" * 9_000 + "y" * 400
    listed = BlockDocument.new(ListSchema(), [])
    assert growth(lambda n: listed.fork().apply(*(PushItem(value=f"item {at}") for at in range(n))), 50) < 5


@pytest.mark.requirement("BLK-4")
def test_a_batch_is_refused_before_the_document_is_changed() -> None:
    """`accept` is shown what the text would be."""
    document, shown = BlockDocument.new(TEXT, "a"), list[str]()

    def refuse(text: str) -> None:
        shown.append(text)
        raise InvalidInput("too long")

    before = document.frontiers()
    with pytest.raises(InvalidInput, match="too long"):
        document.apply(AppendText(text="b"), accept=refuse)
    assert (shown, document.value(), document.frontiers()) == (["ab"], "a", before)


@pytest.mark.requirement("BLK-4")
def test_a_move_behind_another_change_of_the_list_moves_what_it_names() -> None:
    """All indexes are those after the mutations before."""
    document = BlockDocument.new(ListSchema(), ["a", "b", "c"])
    document.apply(PushItem(value="d"), MoveItem(index=3, to=0), DeleteItem(index=1), MoveItem(index=0, to=2))
    assert document.value() == ["b", "c", "d"]
