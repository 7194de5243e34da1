"""Limits over the wire: INVALID_ARGUMENT with the field as the proto names it, before anything is done."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.grpc.messages import context_pb2, filters_pb2
from germane.grpc.messages import memory_pb2 as pb
from germane.types.json_text import JsonText
from germane.types.limits import DEPTH, Limit
from support.listening import SCOPE, Wire, answered, asked, calling, listening, opened, refused, said, struct

OPTIONS = context_pb2.AssembleOptions
LONG = "x" * 300
DEEP = "[" * 65 + "]" * 65
FEW = Limit(maximum=10, unit="values", of="", why="")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text('ab"\\[]{},:é\n', max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('a",[', max_size=4), inner, max_size=4),
    max_leaves=30,
)


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with opened(tmp_path) as germane, listening(germane) as wire:
        yield wire


def filters(**given: Any) -> dict[str, Any]:
    return {"options": OPTIONS(filters=filters_pb2.Filters(**given))}


def scoped(**given: Any) -> pb.Scope:
    return pb.Scope(**{"org_id": "acme", "agent_id": "support"} | given)


def message(written: str) -> context_pb2.Message:
    return context_pb2.Message(json=written)


ASSEMBLE: list[tuple[Any, str]] = [
    (asked(model=LONG), "model has 300 characters, 256 are allowed"),
    (asked(org_id=LONG), "org_id must have 1 to 256 characters, not 300"),
    (asked(agent_id="a\n"), "agent_id must not hold control characters"),
    (asked(session_id=LONG), "session_id must have 1 to 256 characters"),
    (asked(options=OPTIONS(zone=LONG)), "options.zone has 300 characters"),
    (asked(options=OPTIONS(strategy=LONG)), "options.strategy has 300 characters"),
    (asked(options=OPTIONS(provider=LONG)), "options.provider has 300 characters"),
    (asked(options=OPTIONS(query="x" * 4_000_001)), "options.query has 4,000,001 characters, 4,000,000 are allowed"),
    (asked(options=OPTIONS(tools_json=f'[{{"a": {DEEP}}}]')), "options.tools_json is nested deeper than 64 levels"),
    (asked(options=OPTIONS(tools_json=f"[{'{},' * 10_000}{{}}]")), "options.tools_json has at least 10,001 tools, 10,000"),
    (asked(options=OPTIONS(tools_json="[NaN]")), "options.tools_json isn't JSON that can be read"),
    (
        asked(options=OPTIONS(tools_json='["' + "x" * 8_000_000 + '"]')),
        "options.tools_json has 8,000,004 characters, 4,000,000",
    ),
    (asked(*[said("x")] * 100_001), "messages has 100,001 messages, 100,000 are allowed"),
    (asked(said("x"), message(DEEP)), "messages[1].json is nested deeper than 64 levels"),
    (asked(message("[" * 4_000_000)), "messages[0].json is nested deeper than 64 levels"),
    (asked(message(f"[{'0,' * 100_000}0]")), "messages[0].json has more than 100,000 values"),
    (asked(message(f"[{'[],' * 100_000}0]")), "messages[0].json has more than 100,000 values"),
    (asked(message('{"role": "user", "content": 1e999, "n": NaN}')), "messages[0].json isn't JSON that can be read"),
    (
        asked(message(f'{{"role": "user", "content": "x", "n": {"9" * 400}}}')),
        "messages[0] holds a whole number of 1,329 bits, 1,024",
    ),
    (
        asked(*[message(f'{{"role": "user", "content": "x", "n": [{"0," * 90_000}0]}}')] * 25),
        "messages[22].json brings the request to more than 2,000,000 values",
    ),
    (asked(**filters(tags=["t"] * 32_767)), "options.filters.tags has 32,767 entries, 1,000 are allowed"),
    (asked(**filters(tags=["x" * 65])), "options.filters.tags[0] has 65 characters, 64 are allowed"),
    (asked(**filters(exclude=map(str, range(10_001)))), "options.filters.exclude has 10,001 entries, 10,000 are allowed"),
    (asked(**filters(kinds=["opinion"])), "options.filters.kinds must be some of fact"),
    (asked(**filters(since=Timestamp(seconds=9), until=Timestamp(seconds=8))), "options.filters.since 1970-01-01T00:00:09"),
]
OTHERS: list[tuple[str, Any, str]] = [
    ("Remember", pb.RememberRequest(scope=scoped(org_id=LONG), text="x"), "scope.org_id must have 1 to 256"),
    ("Remember", pb.RememberRequest(scope=scoped(zone=LONG), text="x"), "scope.zone has 300 characters"),
    ("Remember", pb.RememberRequest(scope=SCOPE, text="x" * 100_001), "text has 100,001 characters, 100,000 are allowed"),
    ("Remember", pb.RememberRequest(scope=SCOPE, kind=LONG, text="x"), "kind has 300 characters"),
    ("Remember", pb.RememberRequest(scope=SCOPE, fields=struct(body="x" * 100_001)), "fields.body has 100,001 characters"),
    (
        "Remember",
        pb.RememberRequest(scope=SCOPE, text="x", fields=struct(tags=["a"] * 1_001)),
        "fields.tags has at least 1,001",
    ),
    ("Remember", pb.RememberRequest(scope=SCOPE, text="x", fields=struct(title="x" * 100_001)), "fields.title has 100,001"),
    (
        "Remember",
        pb.RememberRequest(scope=SCOPE, kind="fact", fields=struct(key="k", value=[0] * 10_001)),
        "fields.value has at least 10,002 values, 10,000 are allowed",
    ),
    (
        "Remember",
        pb.RememberRequest(scope=SCOPE, text="x", fields=struct(**{f"f{'_' * n}": 1 for n in range(30)})),
        "a note has no '…'",
    ),
    ("Search", pb.SearchRequest(scope=SCOPE, query="x" * 4_000_001), "query has 4,000,001 characters"),
    ("Search", pb.SearchRequest(scope=SCOPE, query="x", strategy=LONG), "strategy has 300 characters"),
    ("Forget", pb.ForgetRequest(scope=SCOPE, ids=["x"] * 10_001), "ids has 10,001 entries, 10,000 are allowed"),
    ("Forget", pb.ForgetRequest(scope=SCOPE, session_id=LONG), "session_id has 300 characters"),
    ("Forget", pb.ForgetRequest(scope=SCOPE, user_id=LONG), "user_id has 300 characters"),
    ("Forget", pb.ForgetRequest(scope=SCOPE, key=LONG), "key has 300 characters"),
    ("Forget", pb.ForgetRequest(scope=SCOPE, ids=["x"], reason="x" * 1_001), "reason has 1,001 characters"),
    (
        "GiveFeedback",
        pb.GiveFeedbackRequest(scope=SCOPE, ids=["x", LONG], verdict=pb.VERDICT_HARMFUL),
        "ids[1] has 300 characters",
    ),
]
OPERATIONS: list[tuple[str, dict[str, Any], str]] = [
    ("memories.get", {"id": LONG}, "id has 300 characters"),
    ("memories.versions", {"id": LONG}, "id has 300 characters"),
    ("memories.update", {"id": LONG, "text": "x"}, "id has 300 characters"),
    ("memories.list", {"cursor": LONG}, "cursor has 300 characters, 256 are allowed"),
    ("memories.list", {"filters": {"tags": ["t"] * 1_001}}, "filters.tags has 1,001 entries"),
    ("set_directive", {"text": "x" * 100_001}, "directive has 100,001 characters, 100,000 are allowed"),
]
RECORD: list[tuple[dict[str, Any], str]] = [
    ({"messages": [said("x")] * 200_001}, "messages has 200,001 messages, 200,000 are allowed"),
    ({"messages": [said("x" * 4_000_001)]}, "messages[0].content has 4,000,001 characters, 4,000,000 are allowed"),
    ({"messages": [message(json.dumps({"role": "user", "content": "x", "id": LONG}))]}, "messages[0].id has 300 characters"),
    ({"messages": [message(r'{"role": "user", "content": "x", "id": "\ud800"}')]}, "messages[0].id holds a lone surrogate"),
    ({"messages": [message(DEEP)]}, "messages[0].json is nested deeper than 64 levels"),
    ({"session_id": LONG}, "session_id must have 1 to 256 characters"),
    ({"channel": LONG}, "channel has 300 characters"),
    ({"source_kind": LONG}, "source_kind must be one of"),
]


@pytest.mark.requirement("RPC-4")
async def test_an_assembly_that_is_too_large_is_refused_by_the_fields_name(wire: Wire) -> None:
    """With its size and the limit."""
    for request, text in ASSEMBLE:
        code, told = await refused(wire.assembly.AssembleContext(request))
        assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)


@pytest.mark.requirement("RPC-4")
async def test_so_is_a_request_about_memories(wire: Wire) -> None:
    """Also where the store would answer that it has nothing of the kind."""
    for rpc, request, text in OTHERS:
        code, told = await refused(getattr(wire.memories, rpc)(request))
        assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)


@pytest.mark.requirement("RPC-4")
async def test_so_is_a_recording(wire: Wire) -> None:
    """Nothing of it is kept."""
    for fields, text in RECORD:
        whole: dict[str, Any] = {"scope": SCOPE, "session_id": "s", "messages": [said("Hello")]} | fields
        request = pb.RecordRequest(**whole)
        code, told = await refused(wire.events.Record(request))
        assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)
    assert (await wire.events.Record(pb.RecordRequest(scope=SCOPE, session_id="s", messages=[said("Hello")]))).added


@pytest.mark.requirement("RPC-4")
async def test_so_is_an_operation(wire: Wire) -> None:
    """By the argument's name; what stood before stands."""
    for operation, arguments, text in OPERATIONS:
        code, told = await refused(calling(wire, operation, **arguments))
        assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)
    assert await answered(calling(wire, "directive")) == "Answer kindly."


async def test_a_cursor_is_good_for_its_own_listing_only(wire: Wire) -> None:
    """Another agent of the same org gets nothing by it."""
    for text in ("one", "two", "three"):
        await wire.memories.Remember(pb.RememberRequest(scope=SCOPE, text=text))
    page = await answered(calling(wire, "memories.list", limit=2))
    again: Any = {"limit": 2, "cursor": page["cursor"]}
    assert len((await answered(calling(wire, "memories.list", **again)))["memories"]) == 2
    code, told = await refused(calling(wire, "memories.list", whose=scoped(agent_id="other"), **again))
    assert code == "INVALID_ARGUMENT"
    assert told == "cursor isn't one that a listing gave to this scope, with these filters: begin again without one"


def read(written: str) -> str:
    """Why it isn't; empty when it is."""
    try:
        JsonText(each=FEW).read(written, "it")
    except InvalidInput as error:
        return str(error)
    return ""


@given(JSON)
def test_json_within_its_limits_is_read_as_ever(value: Any) -> None:
    """Whatever its strings hold, at whatever depth."""
    for written in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert JsonText().read(written, "it") == value


@given(JSON)
def test_its_values_are_never_counted_too_few(value: Any) -> None:
    """Signs within strings aren't values."""

    def count(one: Any) -> int:
        inner = list(one.values()) if isinstance(one, dict) else one if isinstance(one, list) else ()
        return 1 + sum(map(count, inner))

    assert read(json.dumps(value)) in ("", "it has more than 10 values")
    if read(json.dumps(value)):
        assert count(value) >= 5
    else:
        assert count(value) <= FEW.maximum


@given(st.text('[]{}",\\:0ab', max_size=200))
def test_no_text_breaks_the_look_at_it(written: str) -> None:
    """It is JSON, or it is refused by name."""
    assert read(written).startswith(("it ", "it:")) or not read(written)


def test_depth_is_told_by_brackets_outside_of_strings() -> None:
    """The deepest nesting that is allowed, with any number of brackets inside strings."""
    within = "[" * DEPTH.maximum + '"' + "[" * 500 + r"\"" + '"' + "]" * DEPTH.maximum
    assert JsonText().read(within, "it")
    with pytest.raises(InvalidInput, match="it is nested deeper than 64 levels"):
        JsonText().read(f"[{within}]", "it")
