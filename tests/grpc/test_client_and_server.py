"""The client against the service itself: the same context as in process, and its other verbs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest

import germane.errors
from germane import Filters, Germane
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.client.rpcs import ClientRpc
from germane.grpc.messages import context_pb2
from germane.grpc.server.grpc_server import GrpcServer
from support.exchanges import ITEMS
from support.listening import patient
from support.loopback import refusing, serving, unused_port

LONG = 30.0
TALK: list[Any] = [
    {"role": "user", "content": "The blue vase came broken.", "id": "m1"},
    {"role": "assistant", "content": "A new vase leaves on Monday.", "id": "m2"},
]
ASSEMBLY = ClientRpc(context_pb2.ContextAssemblyServiceStub, "AssembleContext", context_pb2.AssembleContextRequest(), str)
ASKED: list[Any] = [{"role": "user", "content": "What about the blue vase?"}]


@asynccontextmanager
async def service(**given: Any) -> AsyncIterator[Client]:
    """A client of a service over an empty store."""
    async with Germane.open(":memory:", freeze=False) as germane:
        server = GrpcServer(germane, patient())
        await server.start()
        try:
            async with Client(str(server.address), **{"limit": LONG, **given}) as client:
                yield client
        finally:
            await server.stop(0)


@pytest.mark.requirement("RPC-2", "RPC-3")
async def test_what_was_recorded_and_remembered_is_in_the_next_answer() -> None:
    """Every verb, once round."""
    async with service(org="acme", agent="support", user="caroline") as client:
        assert len((await client.record(TALK, session="s1")).added) == 2
        kept = await client.remember("Prefers e-mail to phone calls", kind="preference", pinned=True, tags=["contact"])
        assert kept.tags == ("contact",)
        assert await client.directive("Be kind.") == await client.directive() == "Be kind."
        found = await client.search("vase", 5)
        assert "s1" in {one.candidate.session for one in found}
        answer = await client.assemble(ASKED, model="gpt-4o", session="s2")
        directive, found, asked = answer.messages
        assert asked is ASKED[0]
        assert "Be kind." in directive["content"]
        assert all(said in found["content"] for said in ("Prefers e-mail", "blue vase came broken"))
        assert kept.id in answer.metadata.memory_ids
        assert await client.feedback([kept.id, "no-such-id"]) == 1
        receipt = await client.forget([kept.id])
        assert (receipt.memory_ids, receipt.scrubbed, receipt.waiting_for) == ((kept.id,), True, "")
        again = await client.assemble(ASKED, model="gpt-4o", session="s2")
        assert "Prefers e-mail" not in str(again.messages)


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
async def test_each_providers_messages_come_back_in_its_own_shape(provider: str) -> None:
    """The client takes what each dialect writes for the caller's own, the system prompt apart too."""
    own: Any = ASKED[0]
    if provider == "anthropic":
        own = {"role": "user", "content": [{"type": "text", "text": "What about the blue vase?"}]}
    if provider == "gemini":
        own = {"role": "user", "parts": [{"text": "What about the blue vase?"}]}
    talk = [{"role": "system", "content": "Be brief."}, own]
    async with service() as client:
        await client.remember("The vase is blue.", pinned=True)
        answer = await client.assemble(talk, model="gpt-4o", provider=provider, strategy="compact")
        by_default = await client.assemble(talk, model="gpt-4o", provider=provider)
    assert answer.messages[-1] is own
    assert "The vase is blue." in str(answer.system if answer.system is not None else answer.messages[0])
    assert "Be brief." in str(answer.system if answer.system is not None else answer.messages[1])
    *before, turn = by_default.messages
    assert "The vase is blue." not in str(by_default.system)
    assert "The vase is blue." in str(before[-1] if provider.startswith("openai") else turn)
    assert (turn is own) == provider.startswith("openai")
    assert "What about the blue vase?" in str(turn)
    assert "Be brief." in str(by_default.system if by_default.system is not None else before[0])


@pytest.mark.requirement("INJECT-7", "RPC-3")
@pytest.mark.parametrize(
    ("provider", "model"), [("openai-responses", "gpt-5"), ("anthropic", "claude-opus-4-8"), ("anthropic", "claude-opus-4-1")]
)
async def test_the_clients_own_system_messages_in_the_middle_are_accounted_for(provider: str, model: str) -> None:
    """Where the model takes them, behind the user's words, and in the system prompt."""
    said = {"role": "assistant", "content": "Which one?"}
    middle = {"role": "developer" if provider == "openai-responses" else "system", "content": "Be brief."}
    talk: list[dict[str, Any]] = [{"role": "user", "content": "The vase?"}, said, middle, ASKED[0]]
    async with service() as client:
        await client.remember("The vase is blue.", pinned=True)
        answer = await client.assemble(talk, provider=provider, model=model, strategy="compact")
    assert not answer.metadata.fallback_reason
    assert "The vase is blue." in str(answer.system)
    assert ("Be brief." in str(answer.system)) == (model == "claude-opus-4-1")
    order = {"gpt-5": talk, "claude-opus-4-8": [*talk[:2], talk[3], middle]}.get(model, [*talk[:2], talk[3]])
    assert answer.messages == order


@pytest.mark.requirement("INJECT-6", "INJECT-7", "RPC-3")
@pytest.mark.parametrize(
    ("provider", "model", "order"),
    [
        ("openai-responses", "gpt-5", ["user", "assistant", "developer", "user", "user"]),
        ("anthropic", "claude-opus-4-8", ["user", "assistant", "user", "system"]),
        ("anthropic", "claude-opus-4-1", ["user", "assistant", "user"]),
    ],
)
async def test_system_messages_in_the_middle_are_accounted_for_by_default(provider: str, model: str, order: list[str]) -> None:
    """Also where nothing of germane's is in the system prompt."""
    said = {"role": "assistant", "content": "Which one?"}
    middle = {"role": "developer" if provider == "openai-responses" else "system", "content": "Be brief."}
    talk: list[dict[str, Any]] = [{"role": "user", "content": "The vase?"}, said, middle, ASKED[0]]
    async with service() as client:
        await client.remember("The vase is blue.", pinned=True)
        answer = await client.assemble(talk, provider=provider, model=model)
    assert not answer.metadata.fallback_reason
    assert [message["role"] for message in answer.messages] == order
    assert "The vase is blue." in str(answer.messages)
    assert ("Be brief." in str(answer.system)) == (model == "claude-opus-4-1")
    alone = talk[:3] if provider == "openai-responses" else talk[:2]  # for Claude one message holds both system texts
    assert all(one in answer.messages for one in alone)


@pytest.mark.requirement("INJECT-7", "RPC-3")
async def test_items_of_the_responses_api_come_back_as_they_went() -> None:
    """The very objects, reasoning and calls too."""
    async with service() as client:
        await client.remember("The vase is blue.", pinned=True)
        answer = await client.assemble(ITEMS, model="gpt-4o", provider="openai-responses", strategy="compact")
        by_default = await client.assemble(ITEMS, model="gpt-4o", provider="openai-responses")
    assert "The vase is blue." in str(answer.system)
    assert [*map(id, answer.messages)] == [*map(id, ITEMS)]
    *before, added, turn = by_default.messages
    assert "The vase is blue." in added["content"]
    assert [*map(id, (*before, turn))] == [*map(id, ITEMS)]


@pytest.mark.requirement("RPC-4")
async def test_ten_thousand_messages_come_back_whole() -> None:
    """The service reads them in part."""
    talk = [{"role": ("user", "assistant")[number % 2], "content": f"m {number}"} for number in range(10_000)] + ASKED
    async with service() as client:
        await client.remember("The vase is blue.", pinned=True)
        answer = await client.assemble(talk, model="gemini-2.5-pro", provider="openai", strategy="compact")
        by_default = await client.assemble(talk, model="gemini-2.5-pro", provider="openai")
    assert "The vase is blue." in answer.messages[0]["content"]
    assert [*map(id, answer.messages[1:])] == [*map(id, talk)]
    *before, added, turn = by_default.messages
    assert "The vase is blue." in added["content"]
    assert [*map(id, (*before, turn))] == [*map(id, talk)]


async def test_what_narrows_goes_over_the_wire() -> None:
    """`germane.Filters`, or a mapping with its names; times in the caller's zone."""
    async with service(zone="Europe/Berlin") as client:
        kept = await client.remember("The vase is blue.", tags=["vase"], valid_from=datetime(2026, 1, 1))
        assert kept.valid_from == datetime(2025, 12, 31, 23, tzinfo=UTC)
        await client.remember("The vase is red.", tags=["other"])
        for filters in (Filters(tags=("vase",)), {"tags": ["vase"], "until": datetime(2100, 1, 1, tzinfo=UTC)}):
            found = await client.search("vase", filters=filters)
            assert [one.candidate.text for one in found] == ["The vase is blue."]
            answer = await client.assemble(ASKED, model="gpt-4o", filters=filters)
            assert "is blue" in str(answer.messages)
            assert "is red" not in str(answer.messages)


async def test_the_blocking_client_has_the_same_verbs() -> None:
    """Against the same service."""
    async with service() as client:

        def work() -> tuple[Any, ...]:
            with Blocking(client._connection.address.target, limit=LONG) as blocking:
                kept = blocking.remember("The vase is blue.", pinned=True)
                found = [one.candidate.text for one in blocking.search("vase")]
                answer = blocking.within(user="somebody").assemble(ASKED, model="gpt-4o")
                return found, blocking.feedback([kept.id]), blocking.directive(), answer.messages[-1] is ASKED[0]

        assert await asyncio.to_thread(work) == (["The vase is blue."], 1, "", True)


async def test_verbs_raise_germanes_errors() -> None:
    """They aren't on the way to a model."""
    async with service() as client:
        with pytest.raises(germane.errors.InvalidInput):
            await client.remember("x", kind="nonsense")
        with pytest.raises(germane.errors.InvalidInput):
            await client.record(TALK, session="")
        await client.record(TALK, session="s1")
        with pytest.raises(germane.errors.Conflict):
            await client.record([{"role": "user", "content": "other", "id": "m1"}], session="s1")
    with pytest.raises(germane.errors.StoreUnavailable, match="closed"):
        await client.directive()
    with (
        Blocking(f"127.0.0.1:{unused_port()}") as blocking,
        pytest.raises(germane.errors.StoreUnavailable, match="UNAVAILABLE"),
    ):
        blocking.search("x")


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
async def test_every_status_is_an_error_of_germanes(code: grpc.StatusCode) -> None:
    """No gRPC error reaches the caller."""
    with serving(refusing(code)) as address:
        async with Client(address) as client:
            with pytest.raises(germane.errors.GermaneError):
                await client.run(ASSEMBLY)
