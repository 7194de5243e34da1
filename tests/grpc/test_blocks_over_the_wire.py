"""Memory blocks over the wire: the clients do what `agent.blocks` does, and a key sees and changes only what it allows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, cast

import grpc.aio
import pytest

from germane import Conflict, ConsentNeeded, Germane, InvalidInput, NotFound, NotPermitted, Stale
from germane.api.operations import operations
from germane.api.remote.handles import ClientBlocks
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.messages import memory_pb2
from germane.kinds.blocks.handle import AgentBlocks
from germane.kinds.blocks.mutation import PushItem
from germane_testing.builders import Hashed
from support.listening import Wire, answered, calling, listening, refused

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
async def service(tmp_path: Path) -> AsyncIterator[tuple[AgentBlocks, Client]]:
    """A client of the agent support and of no user, and the blocks that it sees."""
    given: Any = {"org": "acme", "agent": "support", "limit": LONG, "patience": LONG}
    async with served(tmp_path) as (germane, wire), Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme").blocks, client


@pytest.mark.requirement("BLK-2")
async def test_what_the_client_makes_and_reads_is_what_the_library_returns(service: tuple[AgentBlocks, Client]) -> None:
    """create, get, value, list, edit, versions, show_version, undo, redo: every field."""
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
    assert await blocks.versions("project/plan") == await own.versions("project/plan")
    assert await blocks.show_version("project/plan", 1) == "one\ntwo\n"
    assert (await client.stats()).blocks == 2


async def test_settings_shares_and_the_archive_come_back_too(service: tuple[AgentBlocks, Client]) -> None:
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
    assert (await client.forget([deleted.id])).block_ids == (deleted.id,)


@pytest.mark.requirement("BLK-5")
async def test_an_edit_waits_for_consent_and_is_made_after_the_approval(service: tuple[AgentBlocks, Client]) -> None:
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


async def test_errors_are_the_librarys_own(service: tuple[AgentBlocks, Client]) -> None:
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


async def test_folders_are_listed_renamed_and_deleted_as_one(service: tuple[AgentBlocks, Client]) -> None:
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


async def test_the_blocking_client_has_the_same_calls(service: tuple[AgentBlocks, Client]) -> None:
    """And every method of the library but `subscribe`."""
    own, client = service
    names = {name for name in dir(AgentBlocks) if not name.startswith("_")} - {"subscribe"}
    assert names == {name for name in dir(ClientBlocks) if not name.startswith("_")}
    for name in names:
        library, wire = (list(signature(getattr(kind, name)).parameters)[1:] for kind in (AgentBlocks, ClientBlocks))
        assert wire == library, name
    target = client._connection.address.target

    def blocking() -> list[Any]:
        with Blocking(target, org="acme", agent="support", limit=LONG, patience=LONG) as twin:
            made = twin.blocks.create("plan", text="one")
            with pytest.raises(NotFound):
                twin.blocks.get("nothing")
            return [made, twin.blocks.list(), twin.blocks.append("plan", "!").text, twin.blocks.versions("plan")]

    made, listed, text, versions = await asyncio.to_thread(blocking)
    assert (made.text, listed, text, versions) == ("one", (made,), "one!", await own.versions("plan"))


@pytest.mark.requirement("RPC-4")
async def test_statuses_are_those_of_the_contract(service: tuple[AgentBlocks, Client], tmp_path: Path) -> None:
    """The trailing metadata tell errors apart that share a status; nothing of the content is in any text."""
    _, client = service
    await client.blocks.create("plan", text=CANARY, permission="partner")
    async with grpc.aio.insecure_channel(client._connection.address.target) as channel:
        wire = Wire(channel, cast("Any", None))
        append = {"op": "append_text", "text": CANARY}

        async def trailers(mutation: dict[str, Any], **given: Any) -> tuple[str, str, dict[str, str]]:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await answered(calling(wire, "blocks.edit", label="plan", mutations=[mutation], **given))
            error = caught.value
            assert CANARY not in (error.details() or "")
            return error.code().name, error.details() or "", dict(cast("Any", error.trailing_metadata()) or ())

        code, _, said = await trailers(append)
        assert (code, said["germane-error"], said["germane-asked-of"]) == ("PERMISSION_DENIED", "ConsentNeeded", "partner")
        assert said["germane-consent-request"] == (await client.blocks.consents())[0].id
        code, text, said = await trailers(append, if_hash="x")
        assert (code, said["germane-error"]) == ("FAILED_PRECONDITION", "Stale")
        assert "Read it" in text
        code, text, said = await trailers({"op": "replace_text", "old": CANARY * 2}, system=True)
        assert (code, "germane-error" in said) == ("INVALID_ARGUMENT", False)


@pytest.mark.requirement("RPC-4")
async def test_no_text_of_any_request_is_quoted(tmp_path: Path) -> None:
    """Texts, reasons, values, fields of mutations and schemas, however wrong."""
    async with served(tmp_path) as (germane, wire):
        own = germane.agent("support", org="acme").blocks
        await own.create("plan", text=CANARY)
        await own.create("tasks", schema="list", value=[CANARY])
        names = {"label", "new_label", "id", "agent", "type", "permission"}
        given: dict[str, dict[str, Any]] = {
            "blocks.create": {"label": "plan", "text": "x", "value": "y"},
            "blocks.edit": {"label": "plan", "mutations": [{"op": "set_text"}]},
            "blocks.search_archive": {"query": "x", "limit": -1},
            "blocks.archive": {"text": ""},
        }
        for operation, valid in given.items():
            for name in operations()[operation].parameters:
                for wrong in () if name in names else (CANARY, [CANARY], {CANARY: CANARY}):
                    arguments = json.dumps({**valid, name: wrong}).encode()
                    told = (await refused(calling(wire, operation, arguments=arguments)))[1]
                    assert "canary" not in told, name
        for mutation in (
            {"op": CANARY},
            {"op": "set_text", "text": [CANARY]},
            {"op": "set_text", "text": "x", "section": CANARY},
            {"op": "replace_text", "old": CANARY * 3},
            {"op": "set_field", "field": CANARY, "value": CANARY},
            {"op": "push_item", "value": {CANARY: CANARY}},
            dict(**{CANARY: 1}),
        ):
            for label in ("plan", "tasks"):
                code, told = await refused(calling(wire, "blocks.edit", label=label, mutations=[mutation]))
                assert (code, "canary" in told) == ("INVALID_ARGUMENT", False), told
        for schema in ({"type": CANARY}, {"type": "map", "fields": [{"name": "x", "type": CANARY}]}, dict(**{CANARY: 1})):
            code, told = await refused(calling(wire, "blocks.create", label="x", schema=schema))
            assert (code, "canary" in told) == ("INVALID_ARGUMENT", False), told


@pytest.mark.parametrize(
    ("operation", "given", "text"),
    [
        ("get", {"label": ""}, "label"),
        ("get", {}, "label is missing"),
        ("get", {"label": "a//b"}, "label has an empty segment"),
        ("create", {}, "label is missing"),
        ("create", {"label": "/x"}, "label has an empty segment"),
        ("create", {"label": "x", "type": "hot"}, "type must be one of core"),
        ("create", {"label": "x", "permission": "all"}, "permission 'all' doesn't exist"),
        ("create", {"label": "x", "limit": -1}, "limit must be"),
        ("create", {"label": "x", "data": "AA=="}, "blocks.create has no argument"),
        ("edit", {"label": "x"}, "mutations is empty"),
        ("edit", {"label": "x", "mutations": {}}, "mutations must be a list"),
        ("edit", {"label": "x", "mutations": [{"op": "undo"}] * 1001}, "mutations has 1,001 entries, 1,000 are allowed"),
        ("restore", {}, "id is missing"),
        ("rename_folder", {"folder": "a"}, "new_folder is missing"),
        ("delete_folder", {}, "folder is missing"),
        ("share", {"label": "x"}, "agent is missing"),
        ("share", {"label": "x", "agent": "\n"}, "agent"),
        ("consents", {"limit": 1001}, "limit must be"),
        ("approve", {"id": "x", "scope": 0}, "scope"),
        ("approve", {"id": "x", "scope": 1e9}, "scope"),
        ("archive", {}, "text is missing"),
        ("search_archive", {}, "query is missing"),
        ("search", {}, "query is missing"),
    ],
)
async def test_what_an_operation_lacks_is_named_by_its_argument(
    tmp_path: Path, operation: str, given: dict[str, Any], text: str
) -> None:
    """INVALID_ARGUMENT, and the argument."""
    async with served(tmp_path) as (_, wire):
        code, told = await refused(calling(wire, f"blocks.{operation}", **given))
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

        async def done(name: str, metadata: Any = tuple(key), **given: Any) -> Any:
            return await answered(calling(wire, f"blocks.{name}", metadata=metadata, **given))

        answers = [
            await done("edit", label="plan", mutations=[{"op": "append_text", "text": "!"}]),
            await done("undo", label="plan"),
            await done("redo", label="plan"),
            await done("pin", label="plan"),
            await done("change", label="plan", description="x"),
            await done("delete", label="plan"),
        ]
        assert CANARY not in str(await done("pin", label="page"))
        answers.append(await done("restore", id=answers[0]["id"]))
        assert [one["version"] for one in answers] == sorted(one["version"] for one in answers)
        for one in answers:
            assert (one["text"], one["content_hash"]) == ("", "")
            assert CANARY not in str(one)
        for name, given in (("get", {"label": "plan"}), ("list", {}), ("show_version", {"label": "plan", "version": 0})):
            call = calling(wire, f"blocks.{name}", metadata=tuple(key), **cast("Any", given))
            assert (await refused(call))[0] == "PERMISSION_DENIED"
        kept = await done("archive", text=CANARY)
        assert (kept["text"], bool(kept["id"])) == ("", True)
        assert (await done("get", metadata=tuple(whole), label="plan"))["text"] == f"{CANARY}!"


@pytest.mark.requirement("RPC-5", "BLK-6")
async def test_a_block_is_shared_only_with_an_agent_that_the_key_allows(tmp_path: Path) -> None:
    """A shared block gets into the other agent's prompts: a key for one agent reaches no other one that way."""
    async with served(tmp_path, keyed=True) as (germane, wire):
        await germane.agent("support", org="acme").blocks.create("plan", text="x", permission="admin")

        async def shared(agents: list[str] | None, rights: Any = None) -> str:
            token = (await germane.keys.create(org="acme", agents=agents, rights=rights)).token
            key = (("authorization", f"Bearer {token}"),)
            return (await refused(calling(wire, "blocks.share", metadata=key, label="plan", agent="sales")))[0]

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
        for scope in (
            memory_pb2.Scope(org_id="acme", agent_id="support", user_id="ben"),
            memory_pb2.Scope(org_id="acme", agent_id="support"),
            memory_pb2.Scope(org_id="acme", agent_id="sales", user_id="anna"),
            memory_pb2.Scope(org_id="other", agent_id="support", user_id="anna"),
        ):

            def call(name: str, scope: memory_pb2.Scope = scope, **given: Any) -> Any:
                return calling(wire, f"blocks.{name}", whose=scope, **given)

            told = {
                await refused(call("get", label="secret/plan")),
                await refused(call("get", label=block.id)),
                await refused(call("edit", label=block.id, mutations=[{"op": "append_text", "text": "x"}], system=True)),
                await refused(call("delete", label=block.id, system=True)),
                await refused(call("share", label=block.id, agent="x", system=True)),
                await refused(call("entry", id=entry.id)),
                await refused(call("delete_entry", id=entry.id)),
                await refused(call("approve", id=asked.value.request)),
            }
            assert {code for code, _ in told} == {"NOT_FOUND"}
            assert await answered(call("list")) == []
            assert await answered(call("search_archive", query=CANARY)) == []
            assert await answered(call("search", query=CANARY)) == []
            assert await answered(call("consents", pending=False)) == []
        assert (await anna.get("secret/plan")).version == 0


async def test_values_beyond_the_limits_are_refused_before_any_work(tmp_path: Path) -> None:
    """Too many values inside, too deep for the wire, too long: INVALID_ARGUMENT, and nothing is stored."""
    async with served(tmp_path) as (germane, wire):
        own = germane.agent("support", org="acme").blocks
        await own.create("tasks", schema={"type": "list", "item": "object"})
        deep: Any = "x"
        for _ in range(70):
            deep = [deep]
        for value in ({"list": [0] * 200_000}, {"deep": deep}):
            wide = calling(wire, "blocks.edit", label="tasks", mutations=[{"op": "push_item", "value": value}])
            assert (await refused(wide))[0] == "INVALID_ARGUMENT"
        code, told = await refused(calling(wire, "blocks.create", label="x", text="x" * 100_001))
        assert (code, told.startswith("text has 100,001 characters")) == ("INVALID_ARGUMENT", True)
        assert [(one.label, one.version) for one in await own.list()] == [("tasks", 0)]
