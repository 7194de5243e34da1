"""Every RPC once, over a real channel, against a real file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.messages import context_pb2, filters_pb2
from germane.grpc.messages import memory_pb2 as pb
from support.listening import SCOPE, Wire, answered, asked, calling, listening, opened, refused, said, struct

pytestmark = pytest.mark.requirement("RPC-2")


@pytest.fixture
async def wire(tmp_path: Path) -> AsyncIterator[Wire]:
    async with opened(tmp_path) as germane, listening(germane) as wire:
        yield wire


def with_id(text: str) -> context_pb2.Message:
    return context_pb2.Message(json=json.dumps({"role": "user", "content": text, "id": "m1"}))


async def kept(wire: Wire, text: str = "Likes tea", kind: str = "preference", **fields: object) -> pb.Memory:
    request = pb.RememberRequest(scope=SCOPE, text=text, kind=kind, fields=struct(**fields))
    return (await wire.memories.Remember(request)).memory


async def test_what_is_remembered_is_answered_by_its_id(wire: Wire) -> None:
    """Remember, and memories.get."""
    memory = await kept(wire, "Berlin", "fact", key="city", tags=["home"], confidence=0.5, pinned=True)
    assert (memory.kind, memory.text, memory.fields["key"], list(memory.tags)) == ("fact", "city: Berlin", "city", ["home"])
    assert (memory.confidence, memory.pinned, memory.sensitivity) == (0.5, True, "private")
    found = await answered(calling(wire, "memories.get", id=memory.id))
    assert (found["id"], found["content"]["value"], found["tags"]) == (memory.id, "Berlin", ["home"])


async def test_a_whole_number_stays_one(wire: Wire) -> None:
    """A `Struct` holds doubles only, but a whole number returns as a whole number."""
    request = pb.RememberRequest(scope=SCOPE, kind="fact", fields=struct(key="age", value=42))
    assert (await wire.memories.Remember(request)).memory.text == "age: 42"


async def test_a_listing_goes_page_by_page(wire: Wire) -> None:
    """memories.list: newest first, each once, all sensitivities."""
    await kept(wire, sensitivity="sensitive")
    first = await answered(calling(wire, "memories.list", limit=1))
    second = await answered(calling(wire, "memories.list", limit=1, cursor=first["cursor"]))
    texts = [one["content"].get("text", one["content"].get("body")) for one in (*first["memories"], *second["memories"])]
    assert texts == ["Likes tea", "The warehouse opens at seven"]
    private = calling(wire, "memories.list", filters={"sensitivities": ["private"]})
    assert len((await answered(private))["memories"]) == 1


async def test_what_is_updated_is_what_it_is_from_then_on(wire: Wire) -> None:
    """memories.update: null takes away."""
    memory = await kept(wire, expires_at="2999-01-01")
    given: Any = {"id": memory.id, "text": "Likes coffee", "changes": {"expires_at": None}}
    changed = await answered(calling(wire, "memories.update", **given))
    assert memory.HasField("expires_at")
    assert (changed["content"]["text"], changed["expires_at"]) == ("Likes coffee", None)


async def test_a_facts_versions_are_told_oldest_first(wire: Wire) -> None:
    """memories.versions."""
    await kept(wire, "Berlin", "fact", key="city", valid_from="2020-01-01")
    newer = await kept(wire, "Paris", "fact", key="city", valid_from="2021-01-01")
    versions = await answered(calling(wire, "memories.versions", id=newer.id))
    assert [one["content"]["value"] for one in versions] == ["Berlin", "Paris"]
    assert versions[0]["superseded_by"] == newer.id


async def test_a_search_streams_what_it_found_best_first(wire: Wire) -> None:
    """Search: memories and messages alike."""
    await wire.events.Record(pb.RecordRequest(scope=SCOPE, session_id="s", messages=[said("Is the warehouse far?")]))
    found = [one async for one in wire.memories.Search(pb.SearchRequest(scope=SCOPE, query="warehouse"))]
    assert {one.source for one in found} == {"memories", "messages"}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    best = [one async for one in wire.memories.Search(pb.SearchRequest(scope=SCOPE, query="warehouse", limit=1))]
    assert [one.id for one in best] == [found[0].id]


async def test_what_is_forgotten_is_gone_and_told_before(wire: Wire) -> None:
    """Forget, and its dry run."""
    memory = await kept(wire)
    dry = await wire.memories.Forget(pb.ForgetRequest(scope=SCOPE, ids=[memory.id], dry_run=True))
    done = await wire.memories.Forget(pb.ForgetRequest(scope=SCOPE, ids=[memory.id]))
    assert list(dry.memory_ids) == list(done.memory_ids) == [memory.id]
    code, text = await refused(calling(wire, "memories.get", id=memory.id))
    assert (code, text) == ("NOT_FOUND", f"no memory '{memory.id}' here")


async def test_feedback_is_counted(wire: Wire) -> None:
    """GiveFeedback counts known ids only."""
    memory = await kept(wire)
    request = pb.GiveFeedbackRequest(scope=SCOPE, ids=[memory.id, "nothing"], verdict=pb.VERDICT_HARMFUL)
    assert (await wire.memories.GiveFeedback(request)).known == 1
    assert (await answered(calling(wire, "memories.get", id=memory.id)))["harmful"] == 1


async def test_an_export_streams_everything(wire: Wire) -> None:
    """Export: more than crosses at once, as JSON objects with a type, the header first."""
    talk = [said(f"Box {at} is here") for at in range(150)]
    await wire.events.Record(pb.RecordRequest(scope=SCOPE, session_id="s", messages=talk))
    lines = [json.loads(one.json) async for one in wire.memories.Export(pb.ExportRequest(scope=SCOPE))]
    assert [line["type"] for line in lines] == ["header", "directive", "memory", "session"] + ["message"] * 150
    assert [line["content"] for line in lines[4:]] == [one.content for one in talk]


async def test_a_conversation_is_kept_once(wire: Wire) -> None:
    """Record: sent again it is skipped; JSON carries ids."""
    talk = [said("Hello"), with_id("I am Ann")]
    request = pb.RecordRequest(scope=SCOPE, session_id="s", messages=talk)
    assert len((await wire.events.Record(request)).added) == 2
    again = await wire.events.Record(request)
    assert (list(again.added), again.skipped) == ([], 2)
    other = pb.RecordRequest(scope=SCOPE, session_id="s", messages=[with_id("No")])
    assert (await refused(wire.events.Record(other)))[0] == "ALREADY_EXISTS"


async def test_a_directive_is_set_read_and_removed(wire: Wire) -> None:
    """directive and set_directive: a user's own goes before the agent's."""
    user = pb.Scope(org_id="acme", agent_id="support", user_id="ann")
    await answered(calling(wire, "set_directive", whose=user, text="Call her Ann."))
    assert await answered(calling(wire, "directive", whose=user)) == "Call her Ann."
    assert await answered(calling(wire, "set_directive", whose=user, text="")) == "Answer kindly."


async def test_times_are_read_and_narrow(wire: Wire) -> None:
    """`at` and filters of a search."""
    past = Timestamp(seconds=1_000_000_000)
    nothing = pb.SearchRequest(scope=SCOPE, query="warehouse", filters=filters_pb2.Filters(until=past))
    assert [one async for one in wire.memories.Search(nothing)] == []
    request = pb.SearchRequest(scope=SCOPE, query="warehouse", at=Timestamp(seconds=2_000_000_000))
    assert len([one async for one in wire.memories.Search(request)]) == 1


@pytest.mark.requirement("RPC-1")
async def test_what_was_kept_is_in_the_next_answer(wire: Wire) -> None:
    """AssembleContext after Remember, and its metadata."""
    memory = await kept(wire, "The warehouse gate code is kept by Ann")
    answer = await wire.assembly.AssembleContext(asked(request_id="r1"))
    assert "gate code" in answer.messages[1].content
    assert memory.id in answer.metadata.memory_ids
    assert answer.metadata.memories_injected == len(answer.metadata.memory_ids)
    assert (answer.metadata.directive_injected, answer.metadata.fallback_reason) == (True, "")
    assert answer.metadata.request_id == "r1"
    assert {one.name for one in answer.metadata.sources} >= {"directive", "memories", "messages"}
    assert {one.stage for one in answer.metadata.timings} >= {"gather", "pack"}
