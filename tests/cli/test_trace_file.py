"""Trace files: what was saved is shown again as it was; hostile files give clear errors."""

from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.cli.assembly_screen import SavedTrace, dump, load, print_explanation, save
from germane.cli.screen import console, plain, print_json, printable_json, table
from germane.errors import InvalidInput
from germane.types.budget import Cut, Need, TokenPrice, allocate
from germane.types.candidate import (
    Breakdown,
    Candidate,
    Chosen,
    EntityText,
    GraphItem,
    LeftOut,
    PassageRange,
    PatternText,
    Provenance,
    RelationText,
    Scored,
)
from germane.types.codec import decode, encode
from germane.types.context import Metadata
from germane.types.evidence import Evidence
from germane.types.query import Days, Query, Term
from germane.types.trace import SourceReport, Trace
from support.examples import examples

NOW = datetime(2025, 5, 3, 10, 40, tzinfo=UTC)


def scored(id: str, rank: int, text: str = "Ingrid took over") -> Scored:
    candidate = Candidate(
        id=id,
        source="messages",
        category="conversation",
        text=text,
        created_at=NOW,
        evidence=Evidence(own=0.5, cos_own=None),
        passage=PassageRange(10, 400, 20_000, True),
        provenance=Provenance(message_id="m1", metadata={"deep": {"list": [1, None, "x"]}}),
    )
    parts = Breakdown(relevance=0.9, recency=0.1, usefulness=0.5, confidence=0.8, frequency=0.0)
    return Scored(candidate=candidate, score=0.71, log_odds=float("-inf"), breakdown=parts, rank=rank)


def kept(text: str = "Ingrid took over") -> SavedTrace:
    query = Query(
        text="Who?", at=NOW, terms=(Term("who", ("who",)),), days=(Days(first=date(2025, 5, 1), last=date(2025, 5, 3)),)
    )
    trace = Trace(
        strategy="default",
        model="gpt-4o",
        tokenizer="o200k",
        query=query,
        budget=allocate(window=128000, max_output=4096, messages=20, tools=0, safety_fraction=0.02, cap=700),
        chosen=(Chosen(scored=scored("a", 1, text), text=text, tokens=12, share=0.5, handle="a1"),),
        need=Need(0.75, 0.15),
        cut=Cut(TokenPrice(3e-4, 1.5, 0.75), LeftOut(scored=scored("c", 3), reason="price", tokens=90)),
        left_out=(LeftOut(scored=scored("b", 2), reason="below_floor"),),
        sources=(SourceReport(name="messages", status="ok", latency=0.004, found=2),),
        timings=(("gather", 0.004),),
        warnings=("unknown model",),
    )
    return SavedTrace(provider="openai", added=text, metadata=Metadata(total_tokens_injected=40), trace=trace)


def test_a_saved_trace_reads_back_equal() -> None:
    """Every field survives, infinities, dates and named tuples included."""
    assert decode(SavedTrace, json.loads(printable_json(encode(kept())))) == kept()


@pytest.mark.parametrize(
    "shown",
    [
        EntityText(type="person", name="Ingrid", properties=(("city", "Bergen"),)),
        RelationText(source="Ingrid", type="leads", target="Tideline", valid_to=NOW),
        PatternText(action="ask Ingrid", successes=1, applications=2),
    ],
)
def test_what_the_graph_offered_reads_back_equal(shown: EntityText | RelationText | PatternText) -> None:
    """Each of the three kinds of item is known by its fields; anything else is refused."""
    item = GraphItem(shown=shown, prior=0.3, salience=0.5)
    assert decode(GraphItem, json.loads(printable_json(encode(item)))) == item
    for wrong in ({}, {"name": "Ingrid"}, None, 3, {**encode(shown), "more": 1}):
        with pytest.raises(InvalidInput):
            decode(GraphItem, {**encode(item), "shown": wrong})


def test_a_saved_trace_is_explained_identically(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same table, to the character."""
    save(kept(), tmp_path / "trace.json")
    print_explanation(kept(), console())
    first = capsys.readouterr().out
    print_explanation(load(str(tmp_path / "trace.json")), console())
    assert capsys.readouterr().out == first
    assert "below floor" in first
    assert "50% shown" in first


def test_the_query_vector_is_not_written() -> None:
    """A trace is for people; vectors stay in the store."""
    assert "vector" not in encode(kept())["trace"]["query"]


def test_a_lone_surrogate_in_stored_text_can_be_saved(tmp_path: Path) -> None:
    """What is stored verbatim must be explainable."""
    save(kept("half \ud83d pair"), tmp_path / "trace.json")
    assert load(str(tmp_path / "trace.json")) == kept("half \ud83d pair")


def test_stored_text_cannot_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences and bidi overrides are shown as escapes, markup as it stands."""
    print_explanation(kept("\x1b[2J [red]x\u202e \x9b"), console())
    out = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\x9b"} & set(out)
    assert "\\x1b[2J [red]x\\u202e \\x9b" in out


@pytest.mark.parametrize(
    "char", ["\x07", "\x1b", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\ud800", "\U000e0041"]
)
def test_nothing_that_is_printed_holds_what_steers_a_terminal(char: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The console escapes all output, even where a caller forgot to; parsed JSON keeps the original text."""
    rows = table("what")
    rows.add_row(f"cell {char}")
    console().print(rows)
    console().print(f"line {char}")
    print_json({"text": f"a {char} b"})
    out = capsys.readouterr().out
    assert char not in out
    assert json.loads(out[out.index("{") :]) == {"text": f"a {char} b"}
    assert char not in plain(char * 9, 20)


def test_a_text_is_cut_before_it_is_made_plain() -> None:
    """Only the characters that are shown are processed."""
    assert plain("\x9b" * 1_000_000, 8) == "\\x9b\\x9…"
    assert plain("a" * 9, 8) == "aaaaaaa…"
    assert plain("a" * 8, 8) == "a" * 8


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "version 2"),
        ({"version": None}, "version None"),
        ({"format": "x"}, "no saved trace"),
        ({"trace": None}, "must be an object"),
        ({"trace": {}}, "lacks"),
        ({"extra": 1}, "unknown field 'extra'"),
        ({"added": 1}, "must be text"),
        ({"metadata": {"memory_ids": "abc"}}, "must be a list"),
        ({"metadata": {"degradation_level": True}}, "must be a whole number"),
    ],
)
def test_a_wrong_trace_file_says_what_is_wrong(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    """The error names the file and the place."""
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(dump(kept()) | change))
    with pytest.raises(InvalidInput, match=why) as caught:
        load(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"\xff", b"null", b'{"format": "germane-trace", "version": 1, "x": ' + b"[" * 5000]
)
def test_a_file_that_is_no_trace_is_refused(tmp_path: Path, data: bytes) -> None:
    """Never a traceback."""
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(InvalidInput):
        load(str(tmp_path / "t"))


@examples(200)
@given(st.data())
def test_any_change_to_a_trace_file_reads_or_raises_invalid_input(data: st.DataObject) -> None:
    """One value anywhere is replaced by something else; what can be read can be explained."""
    document = copy.deepcopy(encode(kept()))
    where = document
    while True:
        key = (
            data.draw(st.sampled_from(sorted(where))) if isinstance(where, dict) else data.draw(st.integers(0, len(where) - 1))
        )
        if not isinstance(where[key], dict | list) or not where[key] or data.draw(st.booleans()):
            break
        where = where[key]
    where[key] = data.draw(st.sampled_from([None, True, -1, 10**400, 1.5, "x", "inf", [], {}, [[]], {"a": 1}, "9999-99-99"]))
    try:
        found = decode(SavedTrace, document)
    except InvalidInput:
        return
    print_explanation(found, console())
