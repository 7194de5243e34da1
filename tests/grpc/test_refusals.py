"""Refusals: errors name fields and types and hold no content."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from germane.api.operations import operations
from germane.errors import (
    EmbedderError,
    InvalidInput,
    MissingExtra,
    NotFound,
    Phrase,
    StoreCorrupt,
    StoreTooNew,
    StoreUnavailable,
)
from germane.grpc.messages import context_pb2, filters_pb2, operation_pb2
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server.refusals import field_of, refusal
from support.listening import SCOPE, Wire, asked, calling, listening, opened, raw, refused, said, struct
from support.replaced import replaced

CANARY = "hunter2 said the canary"
ASSEMBLE = "/germane.context.v1.ContextAssemblyService/AssembleContext"
OPTIONS = context_pb2.AssembleOptions


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    """One served store for all tests of the module: what is refused leaves nothing behind."""
    async with opened(tmp_path_factory.mktemp("served")) as germane, listening(germane, max_message_bytes=256 * 1024) as wire:
        yield wire


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (context_pb2.AssembleContextRequest(), "org_id is missing"),
        (context_pb2.AssembleContextRequest(org_id="o"), "agent_id is missing"),
        (context_pb2.AssembleContextRequest(org_id="o", agent_id="a"), "model is missing"),
        (context_pb2.AssembleContextRequest(org_id="o", agent_id="a", model="m"), "messages is missing"),
        (asked(said("x", role="")), "messages[0].role is missing"),
        (asked(said("x"), context_pb2.Message(json="{")), "messages[1].json isn't JSON"),
        (asked(context_pb2.Message(json="[1]")), "messages[0].json must be a JSON object"),
        (asked(context_pb2.Message(json="[" * 100_000)), "messages[0].json is nested deeper than 64 levels"),
        (asked(said("x"), said("x", role=CANARY)), "messages[1].role '…' is unknown: give one of system"),
        (asked(available_tokens=-1), "available_tokens must be 0 or more"),
        (asked(deadline_ms=-1), "deadline_ms must be 0 or more"),
        (asked(org_id="o" * 300), "org_id must have 1 to 256 characters"),
        (asked(user_id="\n"), "user_id must not hold control characters"),
        (asked(session_id="\n"), "session_id must not hold control characters"),
        (asked(options=OPTIONS(provider="acme")), "options.provider 'acme' is unknown: give one of openai"),
        (asked(options=OPTIONS(strategy="best")), "options.strategy 'best' is unknown: use one of"),
        (asked(options=OPTIONS(zone="Europe/Nowhere")), "options.zone 'Europe/Nowhere' is unknown: give"),
        (asked(options=OPTIONS(tools_json="{}")), "options.tools_json must be a JSON list"),
        (asked(options=OPTIONS(tools_json="[1]")), "options.tools_json[0] must be"),
        (asked(options=OPTIONS(at=Timestamp(seconds=10**15))), "options.at is no time between the years 1 and 9999"),
        (
            asked(options=OPTIONS(filters=filters_pb2.Filters(sensitivities=["secret"]))),
            "options.filters.sensitivities must be some of public, private, sensitive, not 'secret'",
        ),
    ],
    ids=lambda value: value.split(":")[0] if isinstance(value, str) else "",
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_assembly_lacks_is_named_as_the_proto_names_it(wire: Wire, request_: Any, text: str) -> None:
    """INVALID_ARGUMENT, and the field."""
    code, told = await refused(wire.assembly.AssembleContext(request_))
    assert code == "INVALID_ARGUMENT"
    assert told.startswith(text)


@pytest.mark.parametrize(
    ("rpc", "request_", "text"),
    [
        ("Remember", pb.RememberRequest(text="x"), "scope.org_id is missing"),
        ("Remember", pb.RememberRequest(scope=pb.Scope(org_id="o"), text="x"), "scope.agent_id is missing"),
        (
            "Remember",
            pb.RememberRequest(scope=pb.Scope(org_id="o", agent_id="a", zone="x"), text="x"),
            "scope.zone 'x' is unknown",
        ),
        ("Remember", pb.RememberRequest(scope=SCOPE), "a note needs its body"),
        ("Remember", pb.RememberRequest(scope=SCOPE, text="x", kind="y"), "kind 'y' is unknown"),
        (
            "Remember",
            pb.RememberRequest(scope=SCOPE, text="x", fields=struct(kind="fact")),
            "fields: kind has a field",
        ),
        (
            "Remember",
            pb.RememberRequest(scope=SCOPE, text="x", fields=struct(**{CANARY: 1})),
            "fields: a name must be",
        ),
        ("Remember", pb.RememberRequest(scope=SCOPE, text="x", fields=struct(colour=CANARY)), "a note has no colour"),
        ("Search", pb.SearchRequest(scope=SCOPE), "query is missing"),
        ("Search", pb.SearchRequest(scope=SCOPE, query="x", limit=-1), "limit must be 1 to 1,000"),
        ("Search", pb.SearchRequest(scope=SCOPE, query="x", strategy="y"), "strategy 'y' is unknown"),
        ("Forget", pb.ForgetRequest(scope=SCOPE), "what to forget?"),
        ("GiveFeedback", pb.GiveFeedbackRequest(scope=SCOPE, ids=["x"]), "verdict is missing"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_another_request_lacks_is_named_too(wire: Wire, rpc: str, request_: Message, text: str) -> None:
    """The same of memories."""
    code, told = await refused(getattr(wire.memories, rpc)(request_))
    assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)


@pytest.mark.parametrize(
    ("operation", "given", "text"),
    [
        ("memories.get", {}, "id is missing"),
        ("memories.get", {"id": 3}, "id must be text, not 3"),
        ("memories.get", {"id": "x", CANARY: 1}, "memories.get has no argument '…'"),
        ("memories.update", {"id": "x", "changes": {"id": 1}}, "changes holds id, which is an argument of its own"),
        ("memories.update", {"id": "x"}, "nothing to update"),
        ("memories.list", {"limit": 1001}, "limit must be"),
        ("memories.list", {"cursor": "x"}, "cursor isn't one that a listing gave"),
        ("memories.list", {"filters": {"kinds": [CANARY, 3]}}, "filters.kinds[1] must be text, not 3"),
        ("memories.list", {"filters": {"since": CANARY}}, "filters.since must be a time in ISO 8601, not '…'"),
        ("build", {"messages": [], "model": "m", "limits": {CANARY: CANARY}}, "limits['…'] must be a whole number, not '…'"),
        ("tasks.push", {"goal": "x", "session": "s", "provenance": {}, "sensitivity": CANARY}, "sensitivity"),
        ("tasks.push", {"goal": "x", "session": "s", "provenance": {"metadata": 1}}, "provenance.metadata must be an object"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_operation_lacks_is_named_by_its_argument(wire: Wire, operation: str, given: Any, text: str) -> None:
    """INVALID_ARGUMENT and the place; nothing that was sent is quoted."""
    code, told = await refused(calling(wire, operation, **given))
    assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)
    assert "canary" not in told


@pytest.mark.parametrize(
    "data", [b"[]", b"{", b"\xff", b'{"id": NaN}', b'{"id": 1, "id": 2}', b'{"id": "\\ud800"}', b"[" * 9_000]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_arguments_that_are_no_json_object_are_refused(wire: Wire, data: bytes) -> None:
    """By their place, if there is one."""
    code, told = await refused(calling(wire, "memories.get", arguments=data))
    assert (code, told.startswith("arguments ")) == ("INVALID_ARGUMENT", True)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_operation_is_called_by_its_own_rpc(wire: Wire) -> None:
    """One that writes isn't called as one that reads, and an unknown one isn't called."""
    wrong = operation_pb2.ReadRequest(scope=SCOPE, operation="memories.update", arguments=b"{}")
    assert await refused(wire.operations.Read(wrong)) == (
        "INVALID_ARGUMENT",
        "operation: memories.update writes: call Write",
    )
    unknown = operation_pb2.ReadRequest(scope=SCOPE, operation=CANARY)
    assert await refused(wire.operations.Read(unknown)) == ("UNIMPLEMENTED", "operation is none of this server's")


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x01\xff", CANARY.encode(), b"\x32\x02\x0a\x05"])
@pytest.mark.asyncio(loop_scope="module")
async def test_what_is_no_message_at_all_is_refused(wire: Wire, data: bytes) -> None:
    """Bytes that don't decode."""
    code, told = await refused(raw(wire, ASSEMBLE)(data))
    assert (code, told) == ("INVALID_ARGUMENT", "the request isn't a germane.context.v1.AssembleContextRequest message")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_message_that_is_too_large_isnt_read(wire: Wire) -> None:
    """RESOURCE_EXHAUSTED, by size alone; the connection stays."""
    code, told = await refused(wire.assembly.AssembleContext(asked(said(CANARY * 20_000))))
    assert code == "RESOURCE_EXHAUSTED"
    assert CANARY not in told
    assert (await refused(wire.assembly.AssembleContext(asked())))[0] == "OK"


@pytest.mark.asyncio(loop_scope="module")
async def test_an_rpc_there_isnt_is_unimplemented(wire: Wire) -> None:
    """Whatever it is called."""
    assert (await refused(raw(wire, "/germane.context.v1.MemoryService/Guess")(b"")))[0] == "UNIMPLEMENTED"


NAMES = {"org_id", "agent_id", "user_id", "session_id", "model", "zone", "strategy", "provider", "source_kind"} | {
    "kind",
    "kinds",
    "sensitivities",
    "id",
    "ids",
    "page_token",
}
"""Fields whose values may be said again."""


def planted(kind: type[Message], valid: Message) -> Iterator[tuple[str, Message]]:
    """Yields the valid request with the canary in each text field in turn, but for name fields."""
    for field in kind.DESCRIPTOR.fields:
        if field.name in NAMES or field.cpp_type != field.CPPTYPE_STRING:
            continue
        request = kind.FromString(valid.SerializeToString())
        if field.is_repeated:
            getattr(request, field.name).append(CANARY)
        else:
            setattr(request, field.name, CANARY)
        yield field.name, request


def wrong_messages() -> Iterator[dict[str, Any]]:
    """Of any shape that a dialect refuses or nearly does."""
    values: list[Any] = [CANARY, [CANARY], {CANARY: CANARY}, [{"type": CANARY}], [{"type": "text", "text": {CANARY: 1}}], 7]
    for value in values:
        for key in ("role", "content", "tool_calls", "name", "id", "created_at", "parts", "tool_call_id", "function_call"):
            yield {"role": "user", "content": "x"} | {key: value}
            yield {"role": "assistant", key: value}
    yield {"role": "user", "content": [{"type": "image_url", "image_url": {CANARY: CANARY}}]}
    yield {"role": "user", "content": [{"type": "tool_result", "content": {CANARY: CANARY}}]}
    yield {"role": "tool", "content": {CANARY: [CANARY]}, "tool_call_id": {CANARY: CANARY}}


@pytest.mark.requirement("RPC-4")
@pytest.mark.asyncio(loop_scope="module")
async def test_no_message_however_wrong_is_quoted(wire: Wire) -> None:
    """Roles, names, times, parts: in all four shapes."""
    codes = set()
    for provider in ("openai", "openai-responses", "anthropic", "gemini"):
        for one in wrong_messages():
            sent = context_pb2.Message(json=json.dumps(one))
            code, told = await refused(wire.assembly.AssembleContext(asked(sent, options=OPTIONS(provider=provider))))
            codes.add(code)
            assert "canary" not in told, one
            record = pb.RecordRequest(scope=SCOPE, session_id="s", messages=[sent])
            assert "canary" not in (await refused(wire.events.Record(record)))[1], one
    assert codes == {"OK", "INVALID_ARGUMENT"}


@pytest.mark.requirement("RPC-4")
@pytest.mark.asyncio(loop_scope="module")
async def test_no_text_of_any_request_is_quoted(wire: Wire) -> None:
    """Every text field of every request in turn, but for name fields."""
    requests: list[tuple[Callable[[Any], Any], Message]] = [
        (wire.assembly.AssembleContext, asked()),
        (wire.memories.Remember, pb.RememberRequest(scope=SCOPE, kind="fact", fields=struct(key="k"))),
        (wire.memories.Search, pb.SearchRequest(scope=SCOPE, query="x")),
        (wire.memories.Forget, pb.ForgetRequest(scope=SCOPE, everything=True)),
        (wire.events.Record, pb.RecordRequest(scope=SCOPE, session_id="s", source_kind="nobody")),
    ]
    for rpc, valid in requests:
        for name, request in planted(type(valid), valid):
            assert "canary" not in (await refused(rpc(request)))[1], name
    others: dict[str, Any] = {"memories.update": {"id": "nothing"}, "tasks.pop": {"session": "s"}, "set_directive": {}}
    for operation, given in others.items():
        for name in operations()[operation].parameters:
            if name not in NAMES | {"session"}:
                for value in (CANARY, [CANARY], {CANARY: CANARY}):
                    assert "canary" not in (await refused(calling(wire, operation, **{**given, name: value})))[1], name
    for name, options in planted(OPTIONS, OPTIONS()):
        assert "canary" not in (await refused(wire.assembly.AssembleContext(asked(options=options))))[1], name
    for name in ("key", "value", "title", "tags", "sensitivity", "confidence", "pinned", "expires_at", "valid_from"):
        for value in (CANARY, [CANARY], {"x": CANARY}):
            request = pb.RememberRequest(scope=SCOPE, kind="fact", text="x", fields=struct(**{"key": "k"} | {name: value}))
            assert "canary" not in (await refused(wire.memories.Remember(request)))[1], name


@pytest.mark.requirement("RPC-4")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("field", ["system_json", "tools_json"])
async def test_no_value_of_a_json_field_is_quoted(wire: Wire, field: str) -> None:
    """At any place in it; and a text that no status can carry doesn't keep the caller waiting for one."""
    function = {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}}
    blocks = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
    document = blocks if field == "system_json" else [{"type": "function", "function": function}]
    codes = set()
    for wrong in replaced(document, [f'"{CANARY}"', f'["{CANARY}"]', f'{{"{CANARY}": "{CANARY}"}}', r'"\ud800"']):
        options = OPTIONS()
        setattr(options, field, json.dumps(wrong))
        code, told = await refused(wire.assembly.AssembleContext(asked(options=options), timeout=5))
        codes.add(code)
        assert "canary" not in told, wrong
    assert codes == {"OK", "INVALID_ARGUMENT"}


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable(CANARY), "UNAVAILABLE"),
        (StoreCorrupt(CANARY), "DATA_LOSS"),
        (StoreTooNew(CANARY), "FAILED_PRECONDITION"),
        (EmbedderError(CANARY), "UNAVAILABLE"),
        (MissingExtra(CANARY, CANARY), "FAILED_PRECONDITION"),
        (ValueError(CANARY), "INTERNAL"),
        (KeyError(CANARY), "INTERNAL"),
    ],
)
def test_what_isnt_the_callers_fault_is_named_by_its_type_alone(error: Exception, code: str) -> None:
    """A path, a statement or a text may stand in the message of any of them."""
    status, told = refusal(error)
    assert status.name == code
    assert type(error).__name__ in told
    assert "canary" not in told


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize(
    "value", [CANARY, f"'{CANARY}", f"\"{CANARY}'s", f"'\\'{CANARY}", f"{CANARY}\ud800", CANARY * 4_000, "{}" + CANARY]
)
def test_a_value_is_never_shown_whatever_it_holds(value: str) -> None:
    """Quotes, lone surrogates, 100,000 characters, and what stands for a value in a text."""
    errors = (
        InvalidInput("must be text, not {}", value, path="name", advice="give another"),
        InvalidInput("has no {}", value, path="limits[{}]").within("options[{}]", value),
        NotFound("no memory {} here", value),
        InvalidInput("has no {}", Phrase(f"a, {value}")),
    )
    for error in errors:
        assert "canary" not in refusal(error)[1]
    assert refusal(errors[0])[1] == "name must be text, not '…': give another"


def test_a_name_of_the_request_is_shown() -> None:
    """And numbers are; of other values the type."""
    assert refusal(InvalidInput("{} is unknown", "best", path="strategy"), names=["best"])[1] == "strategy 'best' is unknown"
    assert refusal(InvalidInput("must be 1, not {} or {}", 7, ["x"]))[1] == "must be 1, not 7 or list"


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("tools[3].name", "options.tools[3].name"),
        ("tools", "options.tools"),
        ("tags[0]", "fields.tags[0]"),
        ("toolset", "fields.toolset"),
        ("", ""),
    ],
)
def test_a_path_is_renamed_by_its_argument(path: str, field: str) -> None:
    """The rest of the path stays; what the table doesn't list stands below the field under the empty name."""
    assert field_of(path, {"tools": "options.tools", "": "fields"}) == field
    assert field_of(path, {}) == path


def test_a_status_can_carry_every_text() -> None:
    """gRPC sends no status at all for a text with a lone surrogate, and the caller waits until its deadline."""
    assert refusal(InvalidInput("not \ud800 here"))[1] == "not ? here"


def test_a_long_text_is_cut() -> None:
    """Metadata of a call have a limit, beyond which a status is lost."""
    assert len(refusal(InvalidInput("x" * 10_000))[1]) < 500
