"""Why, agents, and what a recording found, over the wire: the clients return what the library returns."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.errors import GermaneError
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server.grpc_server import GrpcServer
from germane.kinds.events.value import Recorded
from germane_testing.builders import Hashed
from support.listening import answered, calling, listening, patient, refused

pytestmark = pytest.mark.requirement("RPC-2")

LONG = 30.0
ASKED = [{"role": "user", "content": "Where does Biscuit sleep?"}]
HOME = {"role": "user", "content": "I live in Graz. My password is hunter2xyz!"}


@pytest.fixture
async def germane(tmp_path: Path) -> Any:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as opened:
        yield opened


@pytest.fixture
async def client(germane: Germane) -> Any:
    server = GrpcServer(germane, patient())
    await server.start()
    try:
        async with Client(str(server.address), org="acme", agent="support", user="anna", limit=LONG, patience=LONG) as opened:
            yield opened
    finally:
        await server.stop(0)


async def test_why_says_what_became_of_one_thing(germane: Germane, client: Client) -> None:
    """What went in, what is forgotten, what isn't this scope's; the same as the library says, from either client."""
    anna = germane.agent("support", org="acme", user="anna")
    kept = await anna.remember("Biscuit sleeps in the garden")
    gone = await anna.remember("Biscuit is a dog")
    await anna.forget([gone.id], by="ada", reason="asked")
    theirs = await germane.agent("support", org="acme", user="ben").remember("Biscuit belongs to ben")
    found = await client.why(kept.id[:-1], ASKED, model="gpt-4o")
    assert (found.id, found.outcome, found.rank) == (kept.id, "injected", 1)
    assert found.tokens
    assert found.probability
    forgotten = await client.why(gone.id, ASKED, model="gpt-4o")
    context = await anna.assemble(ASKED, model="gpt-4o", deadline=None)
    assert forgotten == await anna.why(gone.id, context)
    assert (forgotten.outcome, forgotten.reason) == ("forgotten", "asked")
    assert (await client.why(theirs.id, ASKED, model="gpt-4o")).outcome == "absent"
    asked_alone = await client.why(kept.id, model="gpt-4o", query="Where does Biscuit sleep?", filters={"kinds": ["fact"]})
    assert (asked_alone.outcome, asked_alone.reason) == ("filtered", "kinds")

    def blocking() -> Any:
        target = client._connection.address.target
        with Blocking(target, org="acme", agent="support", user="anna", patience=LONG) as twin:
            return twin.why(kept.id, ASKED, model="gpt-4o").outcome, twin.agents()

    assert await asyncio.to_thread(blocking) == ("injected", await germane.agents("acme"))


async def test_a_why_that_cant_be_asked_is_refused_with_its_field(germane: Germane, client: Client) -> None:
    """No id, no model, a request that is larger than an explanation may cost."""
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"id": "x" * 300}, "id has 300"),
        ({"model": ""}, "model must be"),
        ({"effort": "huge"}, "effort"),
    )
    for given, what in wrong:
        with pytest.raises(InvalidInput, match=what):
            await client.why(**{"id": "abcd", "messages": ASKED, "model": "gpt-4o", **given})
    with pytest.raises(InvalidInput, match=r"messages has 1,.* characters, 1,000,000 are allowed"):
        await client.why("abcd", [{"role": "user", "content": "x" * 1_000_000}], model="gpt-4o")
    with pytest.raises(InvalidInput, match="15 MiB"):
        await client.why("abcd", [{"role": "user", "content": "x" * 16_000_000}], model="gpt-4o")
    async with listening(germane) as wire:
        nameless = calling(wire, "why", whose=pb.Scope(agent_id="support"), id="abcd", model="gpt-4o")
        assert (await refused(nameless))[1].startswith("scope.org_id is missing")


async def test_more_text_than_one_call_takes_is_said(client: Client) -> None:
    """As an error of germane's, with what to do."""
    with pytest.raises(InvalidInput, match="15 MiB: give them in several calls"):
        await client.record([{"role": "user", "content": "x" * 4_000_000} for _ in range(4)], session="s")
    with pytest.raises(InvalidInput, match="content has 9,000,000 characters"):
        await client.record([{"role": "user", "content": "x" * 9_000_000}], session="s")


async def test_an_orgs_agents_come_page_by_page(germane: Germane, client: Client) -> None:
    """Each with its figures; another org's don't."""
    for org, name, user in (("acme", "a", "u"), ("acme", "b", None), ("other", "c", None)):
        await germane.agent(name, org=org, user=user).remember("x")
    first = await client.agents(limit=1)
    second = await client.agents(limit=1, cursor=first.cursor)
    assert (*first.agents, *second.agents) == (await germane.agents("acme")).agents
    assert second.cursor is None
    with pytest.raises(InvalidInput, match="cursor"):
        await client.within(org="other").agents(cursor=first.cursor)


@pytest.mark.requirement("RPC-5", "SCOPE-2")
async def test_only_a_key_for_the_whole_org_lists_its_agents(germane: Germane) -> None:
    """A key of one agent learns nothing of others, nor does a key of another org or one that can't read."""
    await germane.agent("a", org="acme").remember("x")
    refused_ones: tuple[dict[str, Any], ...] = (
        {"org": "acme", "agents": ["a"]},
        {"org": "other"},
        {"org": "acme", "rights": ("write",)},
    )
    for wanted in refused_ones:
        token = (await germane.keys.create(**wanted)).token
        async with listening(germane, keys=germane.keys) as wire:
            key = [("authorization", f"Bearer {token}")]
            call = calling(wire, "agents", whose=pb.Scope(org_id="acme", agent_id="a"), metadata=key)
            assert await refused(call) == ("PERMISSION_DENIED", "the API key doesn't open this")
    token = (await germane.keys.create(org="acme")).token
    async with listening(germane, keys=germane.keys) as wire:
        key = [("authorization", f"Bearer {token}")]
        assert len((await answered(calling(wire, "agents", whose=pb.Scope(agent_id="a"), metadata=key)))["agents"]) == 1
    async with listening(germane) as wire:
        assert (await refused(calling(wire, "agents", whose=pb.Scope(agent_id="a"))))[1].startswith("scope.org_id is missing")


@pytest.mark.requirement("RPC-5", "SCOPE-2")
async def test_a_why_of_another_agent_is_denied(germane: Germane) -> None:
    """As any other call of that key."""
    await germane.agent("a", org="acme").remember("x")
    token = (await germane.keys.create(org="acme", agents=["b"])).token
    async with listening(germane, keys=germane.keys) as wire:
        scope, key = pb.Scope(org_id="acme", agent_id="a"), [("authorization", f"Bearer {token}")]
        call = calling(wire, "why", whose=scope, metadata=key, id="abcd", model="gpt-4o")
        assert (await refused(call))[0] == "PERMISSION_DENIED"


async def test_a_recording_tells_what_it_found(germane: Germane, client: Client) -> None:
    """Ids of extracted memories, secrets by kind, and what couldn't be told apart; stats count what was extracted."""
    recorded = await client.record([HOME], session="s")
    assert isinstance(recorded, Recorded)
    (found,) = [await client.memories.get(id) for id in recorded.extracted]
    assert (found.text, found.derived_from) == ("user.home: Graz", recorded.added)
    assert recorded.secrets == {"password": 1}
    twin = germane.agent("support", org="acme", user="ben")
    assert (await twin.record([HOME], session="s")).secrets == recorded.secrets
    assert (await client.stats()).extracted == {"rules": 1}
    for _ in range(2):
        await client.record([{"role": "user", "content": "ok"}], session="short")
    again = await client.record([{"role": "user", "content": "ok"}], session="short")
    assert (again.skipped, again.assumed_resent) == (1, 1)


async def test_what_a_memory_was_made_from_comes_over_the_wire(germane: Germane, client: Client) -> None:
    """Its sources, since when it is stale, its near-duplicates, and the secrets that were found in what was given."""
    anna = germane.agent("support", org="acme", user="anna")
    home = await anna.remember("Leith", kind="fact", key="home")
    way = "The way to work takes some ten minutes by bus, or a bit less on foot along the canal and over the old bridge"
    await anna.remember(way, derived_from=[home.id])
    note = await anna.remember(f"{way} - yes", derived_from=[home.id])
    await anna.memories.update(home.id, value="Oslo")
    stale = await client.memories.get(note.id)
    own = await anna.memories.get(note.id)
    assert (stale.derived_from, stale.stale_since, stale.near_duplicates) == ((home.id,), own.stale_since, own.near_duplicates)
    assert stale.stale_since is not None
    assert stale.near_duplicates
    kept = await client.remember("the password is hunter2xyz!")
    assert dict(kept.secrets) == {"password": 1}
    assert (await client.memories.update(note.id, "my password is hunter2xyz!")).secrets == {"password": 1}


async def test_forgetting_by_where_things_came_from(germane: Germane, client: Client) -> None:
    """Source kind and channel, and where the store was searched afterwards."""
    await client.record([HOME], session="s", channel="mail")
    await client.record([HOME], session="t", channel="chat")
    receipt = await client.forget(channel="mail")
    assert (len(receipt.event_ids), len(receipt.checked) > 0) == (1, True)
    assert len((await client.forget(source_kind="user", dry_run=True)).event_ids) == 1
    with pytest.raises((InvalidInput, GermaneError), match="source_kind"):
        await client.forget(source_kind="nobody")
