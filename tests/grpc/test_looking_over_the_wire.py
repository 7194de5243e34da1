"""Looking through a store over the wire: the clients return what the library returns, as plain values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane import Filters, Germane, InvalidInput, Memory, NotFound, Provenance, StoreUnavailable
from germane.api.agent import Agent
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.server.grpc_server import GrpcServer
from germane_testing.builders import Hashed
from support.listening import patient
from support.loopback import unused_port

pytestmark = pytest.mark.requirement("CLI-2", "RPC-2")

TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "The blue vase came broken.", "id": "m1", "name": "Anna"},
    {"role": "assistant", "content": "A new vase leaves on Monday. " * 400, "id": "m2"},
]
LONG = 30.0


@asynccontextmanager
async def service(folder: Path, **given: Any) -> AsyncIterator[tuple[Germane, Client]]:
    """A store with some things of anna's and ben's, and a client of anna's."""
    async with Germane.open(folder / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        anna = germane.agent("support", org="acme", user="anna")
        await anna.remember(
            "Vienna", kind="fact", key="city", provenance=Provenance(channel="mail", refs=("a",), metadata={"n": 1})
        )
        await anna.remember("Graz", kind="fact", key="city", observed_at=datetime(2026, 1, 2, tzinfo=UTC))
        await anna.remember(kind="fact", key="numbers", value={"whole": 2, "half": 0.5, "list": [1, None, "x"]})
        await anna.remember("Likes tea", kind="preference", tags=["drink"], sensitivity="sensitive", pinned=True)
        await anna.record(TALK, session="s1")
        await germane.agent("support", org="acme", user="ben").remember("Likes milk", kind="preference")
        server = GrpcServer(germane, patient(), **given)
        await server.start()
        try:
            target = str(server.address)
            async with Client(target, org="acme", agent="support", user="anna", limit=LONG, patience=LONG) as client:
                yield germane, client
        finally:
            await server.stop(0)


def own(germane: Germane) -> Agent:
    return germane.agent("support", org="acme", user="anna")


async def test_memories_come_back_as_the_library_returns_them(tmp_path: Path) -> None:
    """List, get, versions, update: every field."""
    async with service(tmp_path) as (germane, client):
        agent = own(germane)
        listed = (await agent.memories.list(limit=2)).memories
        page = await client.memories.list(limit=2)
        assert page.memories == listed
        rest = await client.memories.list(limit=9, cursor=page.cursor)
        assert (len(rest.memories), rest.cursor) == (1, None)
        everything = Filters(with_ended=True, kinds=("fact",), sensitivities=("private",))
        found = await client.memories.list(everything)
        assert found.memories == (await agent.memories.list(everything)).memories
        newer = next(memory for memory in found.memories if memory.text == "city: Graz")
        assert await client.memories.get(newer.id[:-1]) == newer
        assert await client.memories.versions(newer.id) == await agent.memories.versions(newer.id)
        changed = await client.memories.update(newer.id, "Linz", confidence=0.5, observed_at=None)
        assert (changed.text, changed.confidence) == ("city: Linz", 0.5)
        assert changed == await agent.memories.get(newer.id)
        with pytest.raises(NotFound):
            await client.memories.get("0" * 36)
        with pytest.raises(InvalidInput, match=r"filters\.kinds must be some of"):
            await client.memories.list({"kinds": ["tune"]})


async def test_messages_sessions_users_and_counts_come_back_too(tmp_path: Path) -> None:
    """Long texts are cut in a list, and whole from `find`."""
    async with service(tmp_path) as (germane, client):
        agent = own(germane)
        first = await client.messages("s1", limit=1)
        second = await client.messages("s1", limit=1, cursor=first.cursor)
        assert [one.message_id for one in (*first.messages, *second.messages)] == ["m2", "m1"]
        (cut,) = first.messages
        assert cut.passage is not None
        assert (cut.passage.size, len(cut.text) < len(TALK[1]["content"])) == (len(TALK[1]["content"]), True)
        whole = await client.find("m2")
        assert whole.text == TALK[1]["content"]
        stored = (await agent.messages("s1")).messages[1]
        assert second.messages[0] == stored
        assert await client.sessions() == await agent.sessions()
        assert await client.stats() == await agent.stats()
        assert isinstance(await client.find((await client.memories.list()).memories[0].id), Memory)
        everyone = Client(str(client._connection.address.target), org="acme", agent="support", patience=LONG)
        async with everyone:
            assert await everyone.users() == await germane.agent("support", org="acme").users()
            assert (await everyone.stats()).users == 2
        with pytest.raises(InvalidInput, match="without a user"):
            await client.users()


@pytest.mark.requirement("SCOPE-3")
async def test_another_users_things_are_absent(tmp_path: Path) -> None:
    """By id, by its beginning, and in lists."""
    async with service(tmp_path) as (_, client):
        ben = client.within(user="ben")
        (memory,) = (await client.memories.list({"kinds": ["preference"], "sensitivities": ["sensitive"]})).memories
        for name in (memory.id, memory.id[:-1], "m1"):
            with pytest.raises(NotFound):
                await ben.find(name)
        assert (await ben.messages()).messages == ()
        assert [one.text for one in (await ben.memories.list()).memories] == ["Likes milk"]
        cursor = (await client.memories.list(limit=1)).cursor
        with pytest.raises(InvalidInput, match="cursor"):
            await ben.memories.list(limit=1, cursor=cursor)


async def test_the_blocking_client_has_the_same_calls(tmp_path: Path) -> None:
    """With the same answers, from a thread."""
    import asyncio

    async with service(tmp_path) as (_, client):
        target = client._connection.address.target

        def blocking() -> list[Any]:
            with Blocking(target, org="acme", agent="support", user="anna", limit=LONG, patience=LONG) as twin:
                twin.check()
                listed = twin.memories.list()
                return [
                    listed,
                    twin.memories.get(listed.memories[0].id),
                    twin.messages(),
                    twin.sessions(),
                    twin.stats(),
                    twin.find("m1"),
                ]

        answers = await asyncio.to_thread(blocking)
        expected = [await client.memories.list(), (await client.memories.list()).memories[0], await client.messages()]
        assert answers == [*expected, await client.sessions(), await client.stats(), await client.find("m1")]


@pytest.mark.parametrize("limit", [0, 1001, True, "5"])
async def test_a_bad_limit_is_refused(tmp_path: Path, limit: Any) -> None:
    """As the library refuses it."""
    async with service(tmp_path) as (_, client):
        for call in (client.memories.list, client.messages, client.sessions, client.users):
            with pytest.raises(InvalidInput, match="limit must be"):
                await call(limit=limit)


async def test_a_check_passes_where_everything_is_right_and_injects_nothing(tmp_path: Path) -> None:
    """No memory counts as injected."""
    async with service(tmp_path) as (germane, client):
        await client.check(strategy="compact")
        assert all(not memory.retrieval_count for memory in (await own(germane).memories.list()).memories)


async def test_a_check_says_what_is_wrong(tmp_path: Path) -> None:
    """An unknown strategy, nobody there, no key, a key for something else."""
    async with service(tmp_path) as (_, client):
        with pytest.raises(InvalidInput, match="strategy"):
            await client.check(strategy="fastest")
    async with Client(f"127.0.0.1:{unused_port()}") as nobody:
        with pytest.raises(StoreUnavailable, match="germane serve"):
            await nobody.check()
    async with Germane.open(tmp_path / "keys.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        key = (await germane.keys.create(org="acme", agents=["support"])).token
        server = GrpcServer(germane, patient(), keys=germane.keys)
        await server.start()
        try:
            target = str(server.address)
            for wrong in (None, "gk_x_y"):
                async with Client(target, org="acme", agent="support", key=wrong) as client:
                    with pytest.raises(InvalidInput, match="germane keys create"):
                        await client.check()
            async with Client(target, org="acme", agent="other", key=key) as client:
                with pytest.raises(InvalidInput, match="doesn't allow reading") as error:
                    await client.check()
                assert key not in str(error.value)
            async with Client(target, org="acme", agent="support", key=key) as client:
                await client.check()
        finally:
            await server.stop(0)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("http://localhost:50051", "give 'localhost:50051'"),
        ("https://memory.example:443/x", "give 'memory.example:443' with tls=True"),
        ("HTTP://", "give 'localhost:50051'"),
    ],
)
@pytest.mark.parametrize("kind", [Client, Blocking])
def test_a_web_address_is_refused_with_the_right_form(kind: Any, target: str, said: str) -> None:
    """gRPC would try to resolve it as a host's name."""
    with pytest.raises(InvalidInput, match=said):
        kind(target)


def test_a_client_says_where_it_calls_and_for_whom() -> None:
    """Never the key."""
    client = Blocking("localhost:7411", org="acme", agent="support", user="anna", key="gk_secret_x")
    assert repr(client) == "<Client localhost:7411 acme/support/anna key>"
