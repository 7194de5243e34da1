"""Remember, recall, forget and feedback over the wire: the clients give the library's own values, as keys allow."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from threading import get_ident
from typing import Any

import pytest

from germane import Agent, Conflict, Germane, GermaneError, InvalidInput, Message
from germane.grpc.client import Client
from germane.grpc.server import operation_servicer
from germane.types.codec import encode
from germane.types.message import Text
from germane_testing.builders import Hashed
from support.listening import Wire, calling, listening, refused

pytestmark = pytest.mark.requirement("RPC-2", "HTTP-1")

LONG = 30.0
AT = datetime(2099, 1, 1, tzinfo=UTC)
CANARY = "hunter2 said the canary"


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        yield germane


@pytest.fixture
async def service(germane: Germane) -> AsyncIterator[tuple[Agent, Client, Wire]]:
    given: Any = {"org": "acme", "agent": "support", "user": "anna", "limit": LONG, "patience": LONG}
    async with listening(germane) as wire, Client(str(wire.server.address), **given) as client:
        yield germane.agent("support", org="acme", user="anna"), client, wire


async def test_what_is_remembered_is_the_librarys_memory(service: tuple[Agent, Client, Wire]) -> None:
    """Of every kind, with the fields of all; for all users too."""
    agent, client, _ = service
    made = [
        await client.remember("Graz", kind="fact", key="city", observed_at=datetime(2026, 1, 2, tzinfo=UTC)),
        await client.remember(kind="fact", key="numbers", value={"whole": 2, "half": 0.5, "list": [1, None, "x"]}),
        await client.remember("Likes tea", kind="preference", tags=["drink"], sensitivity="sensitive", pinned=True),
        await client.remember("Met Bob", kind="episode", occurred_at=datetime(2026, 1, 2, tzinfo=UTC), confidence=0.5),
    ]
    for memory in made:
        assert memory == await agent.memories.get(memory.id)
    assert (await client.remember("Likes tea", kind="preference")).id == made[2].id
    shared = await client.remember("The shop opens at nine", agent_wide=True)
    assert shared.user is None
    assert any(one.candidate.id == shared.id for one in await client.within(user="ben").search("shop"))


async def test_what_is_recalled_is_what_the_library_finds(service: tuple[Agent, Client, Wire]) -> None:
    """Every field of each result."""
    agent, client, _ = service
    await client.remember("Likes green tea", kind="preference", tags=["drink"])
    await client.record([{"role": "user", "content": "The tea came broken.", "id": "m1"}], session="s1")
    await agent.blocks.archive("A tin of tea is in the cupboard")
    for given in ({}, {"limit": 1}, {"filters": {"tags": ["drink"]}}, {"strategy": "compact"}):
        own: Any = given | ({"filters": _tagged()} if "filters" in given else {})
        assert await client.search("tea", at=AT, **given) == await agent.search("tea", at=AT, **own)
    assert len(await client.search("tea")) == 3
    wrong: Any = [{"limit": 0}, {"limit": 1001}, {"limit": True}, {"strategy": "none"}, {"filters": {"kinds": ["tune"]}}]
    for given in wrong:
        with pytest.raises(InvalidInput):
            await client.search("tea", **given)


def _tagged() -> Any:
    from germane import Filters

    return Filters(tags=("drink",))


async def test_what_is_forgotten_is_gone(service: tuple[Agent, Client, Wire]) -> None:
    """The receipt is the library's; nothing is forgotten without a criterion."""
    agent, client, _ = service
    kept, gone = await client.remember("Likes tea"), await client.remember("Likes milk", tags=["old"])
    would = await client.forget(tag="old", dry_run=True)
    assert would == await agent.forget(tag="old", dry_run=True)
    receipt = await client.forget(tag="old", by="anna", reason="asked")
    assert (receipt.memory_ids, receipt.scrubbed) == ((gone.id,), True)
    assert [one.id for one in (await agent.memories.list()).memories] == [kept.id]
    assert not await client.forget([gone.id])
    wrongs: Any = [{}, {"source_kind": "nobody"}, {"everything": "yes"}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            await client.forget(**wrong)


@pytest.mark.requirement("RPC-3")
async def test_a_long_result_is_written_beside_the_loop(
    service: tuple[Agent, Client, Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop is that of the calls that a model waits for; to write a thousand results takes longer than one may wait."""
    _, client, _ = service
    threads: list[int] = []

    def noted(value: Any, kind: Any) -> Any:
        threads.append(get_ident())
        return encode(value, kind)

    monkeypatch.setattr(operation_servicer, "encode", noted)
    for number in range(30):
        await client.remember(f"Tea {number} is in the cupboard")
    assert set(threads) == {get_ident()}
    for long in (client.search("tea", 30), client.memories.list()):
        threads.clear()
        await long
        assert get_ident() not in threads
        assert len(threads) == 1


@pytest.mark.requirement("SCOPE-3")
async def test_anothers_memory_is_nobodys(service: tuple[Agent, Client, Wire]) -> None:
    """Another user, agent and org neither find it, nor forget it, nor count for it."""
    agent, client, _ = service
    kept = await client.remember(CANARY)
    assert await client.feedback([kept.id, "no-such-id"]) == 1
    assert await client.feedback([kept.id], helpful=False) == 1
    for other in (client.within(user="ben"), client.within(org="other"), client.within(agent="other")):
        assert await other.search("canary") == ()
        assert await other.feedback([kept.id]) == 0
        assert not await other.forget([kept.id])
        assert not await other.forget(everything=True)
    stored = await agent.memories.get(kept.id)
    assert (stored.text, stored.helpful, stored.harmful) == (CANARY, 1, 1)


async def test_what_cant_be_remembered_is_said(service: tuple[Agent, Client, Wire]) -> None:
    """What means something in the library's process only isn't a field."""
    _, client, wire = service
    for given in ({"kind": "nonsense"}, {"confidence": 2}, {"nothing": 1}, {"expires_at": "soon"}):
        with pytest.raises(InvalidInput):
            await client.remember("x", **given)
    for name in ("provenance", "self", "kind"):
        call = calling(wire, "remember", text="x", fields={name: "fact"})
        assert await refused(call) == ("INVALID_ARGUMENT", f"fields holds {name}, which is an argument of its own")
    with pytest.raises(InvalidInput, match="nothing"):
        await client.remember("x", nothing=1)
    await client.record([{"role": "user", "content": "one", "id": "m1"}], session="s1")
    with pytest.raises(Conflict):
        await client.record([{"role": "user", "content": "two", "id": "m1"}], session="s1")


@pytest.mark.requirement("RPC-5")
async def test_a_key_does_what_it_allows(germane: Germane) -> None:
    """One that may only write gets no content, not even of what was stored before; one that may only read stores nothing."""
    agent = germane.agent("support", org="acme")
    kept = await agent.remember(CANARY, kind="preference")
    async with listening(germane, keys=germane.keys) as wire:

        async def client(*rights: Any, **scope: Any) -> Client:
            token = (await germane.keys.create(org="acme", agents=["support"], rights=list(rights))).token
            named: Any = {"org": "acme", "agent": "support"} | scope
            return Client(str(wire.server.address), key=token, limit=LONG, patience=LONG, **named)

        writer, reader = await client("write"), await client("read")
        others = [await client("read", "write", org="other"), await client("read", "write", agent="other")]
        again = await writer.remember(CANARY, kind="preference")
        assert (again.id, CANARY in repr(again)) == (kept.id, False)
        assert [one.candidate.text for one in await reader.search("canary")] == [CANARY]
        assert await writer.feedback([kept.id]) == 1
        denied: list[Any] = [writer.search("canary")]
        for one in (reader, *others):
            denied += [
                one.remember("x"),
                one.record([{"role": "user", "content": "x"}], session="s"),
                one.forget([kept.id]),
                one.feedback([kept.id]),
            ]
        denied += [one.search("canary") for one in others]
        for call in denied:
            with pytest.raises(GermaneError, match="PERMISSION_DENIED"):
                await call
        assert (await writer.forget([kept.id])).memory_ids == (kept.id,)
        for one in (writer, reader, *others):
            await one.close()


async def test_what_is_recorded_may_be_anything_that_the_library_takes(service: tuple[Agent, Client, Wire]) -> None:
    """Dicts of any provider, germane's own messages, an SDK's objects; what can't be sent is named."""
    agent, client, _ = service

    class Dumped:
        def model_dump(self, **_: Any) -> dict[str, Any]:
            return {"role": "assistant", "content": "It came broken"}

    at = datetime(2026, 1, 2, tzinfo=UTC)
    told: list[Any] = [{"role": "user", "content": "Where is the vase?", "id": "m1", "created_at": at}, Dumped()]
    told.append(Message(role="user", parts=(Text("Send another one"),)))
    assert len((await client.record(told, session="s1", channel="mail")).added) == 3
    again = await client.record(told, session="s1", channel="mail")
    assert (again.added, again.skipped) == ((), 3)
    stored = (await agent.messages("s1")).messages
    assert [one.text for one in stored] == ["Send another one", "It came broken", "Where is the vase?"]
    assert (stored[-1].created_at, stored[-1].provenance.channel) == (at, "mail")
    wrong: list[Any] = ["hello", 5, [5], [{"role": "user", "content": object()}], [{"role": "user", "content": {1, 2}}]]
    for messages in wrong:
        with pytest.raises(InvalidInput):
            await client.record(messages, session="s2")
    assert (await agent.stats()).sessions == 1
