"""Memory blocks over the wire: the clients do what `agent.blocks` does, and a key sees and changes only what it allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from google.protobuf.message import Message
from google.protobuf.struct_pb2 import Value

from germane import Conflict, ConsentNeeded, Germane, InvalidInput, NotFound, NotPermitted, Stale
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client, ClientBlocks
from germane.grpc.stubs import block_pb2 as pb
from germane.grpc.stubs import memory_pb2
from germane.kinds.blocks.handle import MemoryBlocks
from germane.kinds.blocks.mutation import PushItem
from germane_testing.builders import Hashed
from support.listening import SCOPE, Wire, listening, refused, struct

pytestmark = pytest.mark.requirement("RPC-2")

LONG = 30.0
CANARY = "hunter2 said the canary"
TASKS = {"type": "list", "checkboxes": True}


@asynccontextmanager
async def served(folder: Path, **given: Any) -> AsyncIterator[tuple[Germane, Wire]]:
    async with Germane.open(folder / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        if given.pop("keyed", False):
            given["keys"] = germane.keys
        async with listening(germane, **given) as wire:
            yield germane, wire


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[tuple[MemoryBlocks, Client]]:
    """A client of the agent support and of no user, and the blocks that it sees."""
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with served(tmp_path) as (germane, wire), Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme").blocks, client


@pytest.mark.requirement("BLK-2")
async def test_what_the_client_makes_and_reads_is_what_the_library_returns(service: tuple[MemoryBlocks, Client]) -> None:
    """create, get, value, list, edit, history, show_version, undo, redo: every field."""
    own, client = service
    blocks = client.blocks
    plan = await blocks.create("project/plan", text="one\n", description="what to do", by="anna", reason="start")
    assert plan == await own.get("project/plan")
    tasks = await blocks.create("tasks", schema=TASKS, value=["call"], type="core", limit=100)
    edited = await blocks.edit("tasks", PushItem(value="write"), {"op": "check_item", "index": 0}, base=tasks.version)
    assert edited.text == "[x] call\n[ ] write"
    assert await blocks.value("tasks") == await own.value("tasks")
    assert await blocks.value(plan.id) == "one\n"
    assert await blocks.list() == await own.list()
    assert [one.label for one in await blocks.list("core")] == ["tasks"]
    await blocks.append("project/plan", "two\n", reason="why not")
    assert (await blocks.set_text("project/plan", "ONE\n", base=plan.version)).text == "ONE\ntwo\n"
    assert (await blocks.replace("project/plan", "two", "2")).text == "ONE\n2\n"
    assert (await blocks.undo("project/plan")).text == "ONE\ntwo\n"
    assert (await blocks.redo("project/plan")).text == "ONE\n2\n"
    assert await blocks.history("project/plan") == await own.history("project/plan")
    assert await blocks.show_version("project/plan", 1) == "one\ntwo\n"
    assert (await client.stats()).blocks == 2


async def test_settings_shares_and_the_archive_come_back_too(service: tuple[MemoryBlocks, Client]) -> None:
    """pin, change, delete, restore, share, shares, unshare, archive, entry, search_archive, delete_entry."""
    own, client = service
    blocks = client.blocks
    await blocks.create("plan", text="one", permission="admin")
    assert (await blocks.pin("plan")).pinned
    assert not (await blocks.pin("plan", False)).pinned
    changed = await blocks.change("plan", new_label="goal", description="x", type="core", limit=7, permission="read_write")
    assert changed == await own.get("goal")
    assert (await blocks.change("goal", description="", system=True)).description == ""
    shared = await blocks.share("goal", "helper", "read_only", system=True)
    assert await blocks.shares() == await blocks.shares("goal") == (shared,) == await own.shares()
    seen = await client.within(agent="helper").blocks.get("goal")
    assert (seen.shared_from, seen.granted) == ("support", "read_only")
    assert await blocks.unshare("goal", "helper", system=True)
    assert not await blocks.unshare("goal", "helper", system=True)
    deleted = await blocks.delete("goal", system=True)
    assert deleted.deleted_at is not None
    assert await blocks.list(deleted=True) == (deleted,)
    assert (await blocks.restore(deleted.id, system=True)).deleted_at is None
    entry = await blocks.archive("The blue vase", {"dealer": "Almeida", "price": 12, "deep": {"list": [1, 0.5, None]}})
    assert entry == await own.entry(entry.id) == await blocks.entry(entry.id)
    assert await blocks.search_archive("Almeida", 1) == await own.search_archive("Almeida", 1)
    assert (await blocks.search_archive("Almeida"))[0].entry.metadata["price"] == 12
    assert (await client.stats()).archival_entries == 1
    found = await blocks.search("goal")
    assert (found, found[0].block.label) == (await own.search("goal"), "goal")
    assert (await blocks.delete_entry(entry.id)).scrubbed
    with pytest.raises(NotFound):
        await blocks.entry(entry.id)
    assert list((await client.forget([deleted.id])).block_ids) == [deleted.id]


@pytest.mark.requirement("BLK-5")
async def test_an_edit_waits_for_consent_and_is_made_after_the_approval(service: tuple[MemoryBlocks, Client]) -> None:
    """The error carries the request's id; approve once, for a time, for the block; deny. Each is idempotent."""
    own, client = service
    blocks = client.blocks
    await blocks.create("plan", text="one", permission="human")
    with pytest.raises(ConsentNeeded, match="needs the consent of a human") as needed:
        await blocks.append("plan", "x", by="anna")
    assert needed.value.asked_of == "human"
    (request,) = await blocks.consents()
    assert (request.id, request.requested_by, request.state) == (needed.value.request, "support (anna)", "pending")
    assert request == replace((await own.consents())[0], digest=b"")
    approved = await blocks.approve(request.id)
    assert approved == await blocks.approve(request.id, scope="once")
    assert approved.scope == "once"
    with pytest.raises(InvalidInput, match="was approved already"):
        await blocks.deny(request.id)
    assert (await blocks.append("plan", "x", by="anna")).text == "onex"
    assert await blocks.consents() == ()
    for answer, state in ((60.0, "until"), ("block", "block")):
        with pytest.raises(ConsentNeeded) as asked:
            await blocks.edit("plan", {"op": "set_text", "text": str(answer)}, by="ben")
        answered = await blocks.approve(asked.value.request, answer)
        assert answered.scope == state
        assert (answered.until is not None) == (state == "until")
        if state == "until":
            await blocks.change("plan", permission="partner", system=True)  # who is asked now is somebody else
    denied = [one for one in await blocks.consents(pending=False) if one.state == "approved"]
    assert len(denied) == 3
    with pytest.raises(NotFound):
        await blocks.deny("0" * 36)
    with pytest.raises(InvalidInput, match="scope must be"):
        await blocks.approve(request.id, "always")


async def test_errors_are_the_librarys_own(service: tuple[MemoryBlocks, Client]) -> None:
    """Absent, taken, stale, not permitted, wrong: each class, with the caller's names."""
    _, client = service
    blocks = client.blocks
    await blocks.create("log", type="log", permission="append")
    await blocks.create("tasks", schema=TASKS, value=["a", "b"])
    with pytest.raises(NotFound, match="no block 'plan' here"):
        await blocks.get("plan")
    with pytest.raises(Conflict, match="has the label 'tasks' already"):
        await blocks.create("tasks")
    with pytest.raises(Stale, match="changed since"):
        await blocks.edit("tasks", PushItem(value="c"), if_hash="0" * 64)
    await blocks.edit("tasks", {"op": "insert_item", "index": 0, "value": "z"})
    with pytest.raises(Stale, match="could hit another place"):
        await blocks.edit("tasks", {"op": "delete_item", "index": 1}, base=0)
    with pytest.raises(NotPermitted, match="the permission is Append"):
        await blocks.pin("log")
    with pytest.raises(InvalidInput, match="op can't be"):
        await blocks.edit("tasks", {"op": "guess"})
    for call in (
        lambda: blocks.create("x", text="a", value="b"),
        lambda: blocks.create("x", limit=0),
        lambda: blocks.edit("tasks", {"op": "push_item", "value": "x"}, base=-1),
        lambda: blocks.search_archive("x", 0),
        lambda: blocks.search("x", 0),
        lambda: blocks.consents(limit=1001),
        lambda: blocks.get(""),
    ):
        with pytest.raises(InvalidInput):
            await call()


@pytest.mark.requirement("BUILD-4")
async def test_a_request_names_blocks(tmp_path: Path) -> None:
    """Core blocks are in every answer, others where the request names them; a name without a block is a warning."""
    asked = [{"role": "user", "content": "What now?"}]
    async with (
        served(tmp_path) as (_, wire),
        Client(str(wire.server.address), org="acme", agent="support", limit=LONG, patience=LONG) as client,
    ):
        await client.blocks.create("persona", type="core", text="Speaks plainly.")
        await client.blocks.create("plan", text="Ship on Friday.")
        plain = await client.assemble(asked, model="gpt-4o")
        named = await client.assemble(asked, model="gpt-4o", blocks=["plan", "nothing"])
        refused = await client.assemble(asked, model="gpt-4o", blocks="plan")
    assert "Speaks plainly." in str(plain.messages)
    assert "Ship on Friday." not in str(plain.messages)
    assert "Ship on Friday." in str(named.messages)
    assert any("nothing" in warning for warning in named.metadata.warnings)
    assert (refused.messages, refused.metadata.degradation_level) == (asked, 3)


async def test_folders_are_listed_renamed_and_deleted_as_one(service: tuple[MemoryBlocks, Client]) -> None:
    """And a hash guards settings and deleting as it guards edits."""
    own, client = service
    for label in ("old/a", "old/b", "other"):
        await client.blocks.create(label, text=label, permission="admin")
    assert [one.label for one in await client.blocks.list(folder="old")] == ["old/a", "old/b"]
    assert [one.label for one in await client.blocks.rename_folder("old", "new")] == ["new/a", "new/b"]
    with pytest.raises(Stale):
        await client.blocks.change("new/a", description="read long ago", if_hash="0" * 64)
    with pytest.raises(Stale):
        await client.blocks.delete("new/a", if_hash="0" * 64)
    assert [one.label for one in await client.blocks.delete_folder("new", system=True)] == ["new/a", "new/b"]
    with pytest.raises(NotFound):
        await client.blocks.rename_folder("new", "old")
    assert [one.label for one in await own.list()] == ["other"]


async def test_the_blocking_client_has_the_same_calls(service: tuple[MemoryBlocks, Client]) -> None:
    """And every method of the library but `subscribe`."""
    own, client = service
    names = {name for name in dir(MemoryBlocks) if not name.startswith("_")} - {"subscribe"}
    assert names == {name for name in dir(ClientBlocks) if not name.startswith("_")}
    for name in names:
        library, wire = (list(signature(getattr(kind, name)).parameters)[1:] for kind in (MemoryBlocks, ClientBlocks))
        assert wire == library, name
    target = client._connection.address.target

    def blocking() -> list[Any]:
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            made = twin.blocks.create("plan", text="one")
            with pytest.raises(NotFound):
                twin.blocks.get("nothing")
            return [made, twin.blocks.list(), twin.blocks.append("plan", "!").text, twin.blocks.history("plan")]

    made, listed, text, history = await asyncio.to_thread(blocking)
    assert (made.text, listed, text, history) == ("one", (made,), "one!", await own.history("plan"))


@pytest.mark.requirement("RPC-4")
async def test_statuses_are_those_of_the_contract(service: tuple[MemoryBlocks, Client], tmp_path: Path) -> None:
    """The trailing metadata tell errors apart that share a status; nothing of the content is in any text."""
    _, client = service
    await client.blocks.create("plan", text=CANARY, permission="partner")
    async with grpc.aio.insecure_channel(client._connection.address.target) as channel:
        from germane.grpc.stubs.block_pb2_grpc import BlockServiceStub

        stub: Any = BlockServiceStub(channel)
        append = struct(op="append_text", text=CANARY)

        async def trailers(request: Any) -> tuple[str, str, dict[str, str]]:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.EditBlock(request)
            error = caught.value
            assert CANARY not in (error.details() or "")
            return error.code().name, error.details() or "", dict(error.trailing_metadata() or ())

        code, _, said = await trailers(pb.EditBlockRequest(scope=SCOPE, block="plan", mutations=[append]))
        assert (code, said["germane-error"], said["germane-asked-of"]) == ("PERMISSION_DENIED", "ConsentNeeded", "partner")
        assert said["germane-consent-request"] == (await client.blocks.consents())[0].id
        code, text, said = await trailers(pb.EditBlockRequest(scope=SCOPE, block="plan", mutations=[append], if_hash="x"))
        assert (code, said["germane-error"]) == ("FAILED_PRECONDITION", "Stale")
        assert "Read it" in text
        no_such = struct(op="replace_text", old=CANARY * 2)
        code, text, said = await trailers(pb.EditBlockRequest(scope=SCOPE, block="plan", mutations=[no_such], system=True))
        assert (code, "germane-error" in said) == ("INVALID_ARGUMENT", False)


def planted(valid: Message) -> Iterator[tuple[str, Message]]:
    """The request with the canary in each text field in turn, but for names and ids."""
    names = {"block", "label", "new_label", "id", "agent_id", "type", "permission"}
    for field in valid.DESCRIPTOR.fields:
        if field.cpp_type == field.CPPTYPE_STRING and not field.is_repeated and field.name not in names:
            request = type(valid).FromString(valid.SerializeToString())
            setattr(request, field.name, CANARY)
            yield field.name, request


@pytest.mark.requirement("RPC-4")
async def test_no_text_of_any_request_is_quoted(tmp_path: Path) -> None:
    """Texts, reasons, values, fields of mutations and schemas, however wrong."""
    async with served(tmp_path) as (germane, wire):
        own = germane.agent("support", org="acme").blocks
        await own.create("plan", text=CANARY)
        await own.create("tasks", schema="list", value=[CANARY])
        requests: list[tuple[Any, Message]] = [
            (
                wire.blocks.CreateBlock,
                pb.CreateBlockRequest(scope=SCOPE, label="plan", text="x", value=Value(string_value="y")),
            ),
            (wire.blocks.EditBlock, pb.EditBlockRequest(scope=SCOPE, block="plan", mutations=[struct(op="set_text")])),
            (wire.blocks.SearchArchive, pb.SearchArchiveRequest(scope=SCOPE, query="x", limit=-1)),
            (wire.blocks.Archive, pb.ArchiveRequest(scope=SCOPE)),
        ]
        for rpc, valid in requests:
            for name, request in planted(valid):
                assert "canary" not in (await refused(rpc(request)))[1], name
        for mutation in (
            struct(op=CANARY),
            struct(op="set_text", text=[CANARY]),
            struct(op="set_text", text="x", section=CANARY),
            struct(op="replace_text", old=CANARY * 3),
            struct(op="set_field", field=CANARY, value=CANARY),
            struct(op="push_item", value={CANARY: CANARY}),
            struct(**{CANARY: 1}),
        ):
            for label in ("plan", "tasks"):
                edit = pb.EditBlockRequest(scope=SCOPE, block=label, mutations=[mutation])
                code, told = await refused(wire.blocks.EditBlock(edit))
                assert (code, "canary" in told) == ("INVALID_ARGUMENT", False), told
        for schema in (struct(type=CANARY), struct(type="map", fields=[{"name": "x", "type": CANARY}]), struct(**{CANARY: 1})):
            made = pb.CreateBlockRequest(scope=SCOPE, label="x", schema=schema)
            code, told = await refused(wire.blocks.CreateBlock(made))
            assert (code, "canary" in told) == ("INVALID_ARGUMENT", False), told


@pytest.mark.parametrize(
    ("rpc", "request_", "text"),
    [
        ("GetBlock", pb.GetBlockRequest(block="x"), "scope.org_id is missing"),
        ("GetBlock", pb.GetBlockRequest(scope=SCOPE), "block is missing"),
        ("GetBlock", pb.GetBlockRequest(scope=SCOPE, block="a//b"), "block has an empty segment"),
        ("CreateBlock", pb.CreateBlockRequest(scope=SCOPE), "label is missing"),
        ("CreateBlock", pb.CreateBlockRequest(scope=SCOPE, label="/x"), "label has an empty segment"),
        ("CreateBlock", pb.CreateBlockRequest(scope=SCOPE, label="x", type="hot"), "type must be one of core"),
        ("CreateBlock", pb.CreateBlockRequest(scope=SCOPE, label="x", permission="all"), "permission 'all' doesn't exist"),
        ("CreateBlock", pb.CreateBlockRequest(scope=SCOPE, label="x", limit=-1), "limit must be"),
        ("EditBlock", pb.EditBlockRequest(scope=SCOPE, block="x"), "nothing to do"),
        ("EditBlock", pb.EditBlockRequest(scope=SCOPE, block="x", mutations=[struct()] * 1001), "mutations has 1,001 entries"),
        ("RestoreBlock", pb.RestoreBlockRequest(scope=SCOPE), "id is missing"),
        ("RenameBlockFolder", pb.RenameBlockFolderRequest(scope=SCOPE, folder="a"), "new_folder is missing"),
        ("DeleteBlockFolder", pb.DeleteBlockFolderRequest(scope=SCOPE), "folder is missing"),
        ("ShareBlock", pb.ShareBlockRequest(scope=SCOPE, block="x"), "agent_id is missing"),
        ("ShareBlock", pb.ShareBlockRequest(scope=SCOPE, block="x", agent_id="\n"), "agent_id can't be an agent's name"),
        ("ListConsents", pb.ListConsentsRequest(scope=SCOPE, limit=1001), "limit must be 1 to 1,000"),
        ("AnswerConsent", pb.AnswerConsentRequest(scope=SCOPE, id="x"), "answer is missing"),
        (
            "AnswerConsent",
            pb.AnswerConsentRequest(scope=SCOPE, id="x", answer=pb.CONSENT_ANSWER_APPROVE_UNTIL),
            "seconds must be above 0",
        ),
        (
            "AnswerConsent",
            pb.AnswerConsentRequest(scope=SCOPE, id="x", answer=pb.CONSENT_ANSWER_APPROVE_UNTIL, seconds=1e9),
            "seconds must be above 0",
        ),
        (
            "AnswerConsent",
            pb.AnswerConsentRequest(scope=SCOPE, id="x", answer=pb.CONSENT_ANSWER_DENY, seconds=1),
            "seconds: they belong",
        ),
        ("Archive", pb.ArchiveRequest(scope=SCOPE), "text "),
        ("SearchArchive", pb.SearchArchiveRequest(scope=SCOPE), "query is missing"),
        ("SearchBlocks", pb.SearchBlocksRequest(scope=SCOPE), "query is missing"),
    ],
)
async def test_what_a_request_lacks_is_named_as_the_proto_names_it(tmp_path: Path, rpc: str, request_: Any, text: str) -> None:
    """INVALID_ARGUMENT, and the field."""
    async with served(tmp_path) as (_, wire):
        code, told = await refused(getattr(wire.blocks, rpc)(request_))
        assert (code, told[: len(text)]) == ("INVALID_ARGUMENT", text)


@pytest.mark.requirement("RPC-5")
async def test_a_key_that_may_only_write_gets_no_content(tmp_path: Path) -> None:
    """Neither text, hash nor descriptions of a block, nor what an archival entry holds, in any answer to a write."""
    async with served(tmp_path, keyed=True) as (germane, wire):
        own = germane.agent("support", org="acme").blocks
        await own.create("plan", text=CANARY, description=CANARY, permission="admin")
        sections = [{"name": "aims", "schema": {"type": "list"}, "description": CANARY}]
        await own.create("page", schema={"type": "composite", "sections": sections})
        token = (await germane.keys.create(org="acme", rights=["write"])).token
        both = (await germane.keys.create(org="acme")).token
        key, whole = (({"authorization": f"Bearer {one}"}).items() for one in (token, both))
        stub: Any = wire.blocks
        more = struct(op="append_text", text="!")
        answers = [
            await stub.EditBlock(pb.EditBlockRequest(scope=SCOPE, block="plan", mutations=[more]), metadata=tuple(key)),
            await stub.UndoBlockEdit(pb.UndoBlockEditRequest(scope=SCOPE, block="plan"), metadata=tuple(key)),
            await stub.RedoBlockEdit(pb.RedoBlockEditRequest(scope=SCOPE, block="plan"), metadata=tuple(key)),
            await stub.PinBlock(pb.PinBlockRequest(scope=SCOPE, block="plan", pinned=True), metadata=tuple(key)),
            await stub.ChangeBlock(pb.ChangeBlockRequest(scope=SCOPE, block="plan", description="x"), metadata=tuple(key)),
            await stub.DeleteBlock(pb.DeleteBlockRequest(scope=SCOPE, block="plan"), metadata=tuple(key)),
        ]
        pinned = pb.PinBlockRequest(scope=SCOPE, block="page", pinned=True)
        assert CANARY not in str(await stub.PinBlock(pinned, metadata=tuple(key)))
        id = answers[0].block.id
        answers.append(await stub.RestoreBlock(pb.RestoreBlockRequest(scope=SCOPE, id=id), metadata=tuple(key)))
        assert [one.block.version for one in answers] == sorted(one.block.version for one in answers)
        for one in answers:
            assert (one.block.text, one.block.content_hash) == ("", "")
            assert CANARY not in str(one)
        for call in (
            stub.GetBlock(pb.GetBlockRequest(scope=SCOPE, block="plan"), metadata=tuple(key)),
            stub.ListBlocks(pb.ListBlocksRequest(scope=SCOPE), metadata=tuple(key)),
            stub.GetBlockVersion(pb.GetBlockVersionRequest(scope=SCOPE, block="plan"), metadata=tuple(key)),
        ):
            assert (await refused(call))[0] == "PERMISSION_DENIED"
        kept = await stub.Archive(pb.ArchiveRequest(scope=SCOPE, text=CANARY), metadata=tuple(key))
        assert (kept.entry.text, bool(kept.entry.id)) == ("", True)
        read = await stub.GetBlock(pb.GetBlockRequest(scope=SCOPE, block="plan"), metadata=tuple(whole))
        assert read.block.text == f"{CANARY}!"


@pytest.mark.requirement("RPC-5", "BLK-6")
async def test_a_block_is_shared_only_with_an_agent_that_the_key_allows(tmp_path: Path) -> None:
    """A shared block gets into the other agent's prompts: a key for one agent reaches no other one that way."""
    async with served(tmp_path, keyed=True) as (germane, wire):
        await germane.agent("support", org="acme").blocks.create("plan", text="x", permission="admin")
        stub: Any = wire.blocks

        async def shared(agents: list[str] | None, rights: Any = None) -> str:
            token = (await germane.keys.create(org="acme", agents=agents, rights=rights)).token
            request = pb.ShareBlockRequest(scope=SCOPE, block="plan", agent_id="sales")
            return (await refused(stub.ShareBlock(request, metadata=(("authorization", f"Bearer {token}"),))))[0]

        assert await shared(["support"]) == "PERMISSION_DENIED"
        assert await germane.agent("support", org="acme").blocks.shares() == ()
        assert await shared(["support", "sales"]) == "OK"
        assert await shared(None) == "OK"


@pytest.mark.requirement("SCOPE-3", "BLK-6")
async def test_blocks_of_others_are_absent(tmp_path: Path) -> None:
    """Of another user, another agent, another org: by label and by id, in lists, in the archive and in consents."""
    async with served(tmp_path) as (germane, wire):
        anna = germane.agent("support", org="acme", user="anna").blocks
        block = await anna.create("secret/plan", text=CANARY, permission="human")
        entry = await anna.archive(CANARY)
        with pytest.raises(ConsentNeeded) as asked:
            await anna.append("secret/plan", "x")
        stub: Any = wire.blocks
        for scope in (
            memory_pb2.Scope(org_id="acme", agent_id="support", user_id="ben"),
            memory_pb2.Scope(org_id="acme", agent_id="support"),
            memory_pb2.Scope(org_id="acme", agent_id="sales", user_id="anna"),
            memory_pb2.Scope(org_id="other", agent_id="support", user_id="anna"),
        ):
            more = [struct(op="append_text", text="x")]
            told = {
                await refused(stub.GetBlock(pb.GetBlockRequest(scope=scope, block=name))) for name in ("secret/plan", block.id)
            }
            told |= {
                await refused(stub.EditBlock(pb.EditBlockRequest(scope=scope, block=block.id, mutations=more, system=True))),
                await refused(stub.DeleteBlock(pb.DeleteBlockRequest(scope=scope, block=block.id, system=True))),
                await refused(stub.ShareBlock(pb.ShareBlockRequest(scope=scope, block=block.id, agent_id="x", system=True))),
                await refused(stub.GetArchivalEntry(pb.GetArchivalEntryRequest(scope=scope, id=entry.id))),
                await refused(stub.DeleteArchivalEntry(pb.DeleteArchivalEntryRequest(scope=scope, id=entry.id))),
                await refused(
                    stub.AnswerConsent(
                        pb.AnswerConsentRequest(scope=scope, id=asked.value.request, answer=pb.CONSENT_ANSWER_APPROVE_ONCE)
                    )
                ),
            }
            assert {code for code, _ in told} == {"NOT_FOUND"}
            assert [one async for one in stub.ListBlocks(pb.ListBlocksRequest(scope=scope))] == []
            assert [one async for one in stub.SearchArchive(pb.SearchArchiveRequest(scope=scope, query=CANARY))] == []
            assert [one async for one in stub.SearchBlocks(pb.SearchBlocksRequest(scope=scope, query=CANARY))] == []
            listed = await stub.ListConsents(pb.ListConsentsRequest(scope=scope, answered_too=True))
            assert list(listed.requests) == []
        assert (await anna.get("secret/plan")).version == 0


async def test_values_beyond_the_limits_are_refused_before_any_work(tmp_path: Path) -> None:
    """Too many values inside, too deep for the wire, too long: INVALID_ARGUMENT, and nothing is stored."""
    async with served(tmp_path) as (germane, wire):
        own = germane.agent("support", org="acme").blocks
        await own.create("tasks", schema={"type": "list", "item": "object"})
        for value in ({"list": [0] * 20_000}, {"list": [[0] * 9_000, [0] * 9_000]}):
            wide = pb.EditBlockRequest(scope=SCOPE, block="tasks", mutations=[struct(op="push_item", value=value)])
            code, told = await refused(wire.blocks.EditBlock(wide))
            assert (code, told.startswith("mutations[0] has at least")) == ("INVALID_ARGUMENT", True)
        deep: Any = "x"
        for _ in range(28):
            deep = [deep]
        nested = pb.EditBlockRequest(scope=SCOPE, block="tasks", mutations=[struct(op="push_item", value={"deep": deep})])
        assert (await refused(wire.blocks.EditBlock(nested)))[0] == "INVALID_ARGUMENT"
        long = pb.CreateBlockRequest(scope=SCOPE, label="x", text="x" * 100_001)
        code, told = await refused(wire.blocks.CreateBlock(long))
        assert (code, told.startswith("text has 100,001 characters")) == ("INVALID_ARGUMENT", True)
        assert [(one.label, one.version) for one in await own.list()] == [("tasks", 0)]
