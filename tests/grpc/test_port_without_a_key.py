"""Callers without a key: refused before their request is read, and no obstacle to others, however many calls they keep open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from germane import Germane
from germane.api.agent import Agent
from germane.clock import Clock
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server.admission import Limits, Ports
from germane.grpc.server.grpc_server import GrpcServer, registry
from germane.grpc.server.interceptor import ServerInterceptor, send_initial_metadata
from germane.grpc.server.port import LoopBridge
from germane.kinds.keys.value import Grant
from support.listening import SCOPE, Wire, answered, asked, calling, listening, opened, patient, raw, refused

pytestmark = pytest.mark.requirement("RPC-5")

ASSEMBLE = "/germane.context.v1.ContextAssemblyService/AssembleContext"
CHECK, WATCH = "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"
SERVING = health_pb2.HealthCheckResponse.SERVING
PATIENCE = 60.0


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as germane:
        yield germane


async def shown(germane: Germane, org: str = "acme") -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {(await germane.keys.create(org=org)).token}")]


def half_open(wire: Wire, rpc: str, **given: Any) -> Any:
    """A call whose request never comes."""
    return wire.channel.stream_unary(rpc)(timeout=PATIENCE, **given)


def health(wire: Wire) -> Any:
    return health_pb2_grpc.HealthStub(wire.channel)


async def watched(wire: Wire) -> Any:
    """A watch that has got its first word."""
    watch = health(wire).Watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
    assert (await watch.read()).status == SERVING
    return watch


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_key_is_looked_at_before_the_request_is_there(germane: Germane) -> None:
    """No key, an invalid key, an unknown method: each is refused at once, without waiting for the request."""
    async with listening(germane, keys=germane.keys) as wire:
        wrong = [("authorization", f"Bearer gk_{'a' * 16}_{'b' * 52}")]
        for metadata in (None, wrong):
            assert (await refused(half_open(wire, ASSEMBLE, metadata=metadata)))[0] == "UNAUTHENTICATED"
        assert (await refused(half_open(wire, "/a.B/C")))[0] == "UNIMPLEMENTED"
        found = wire.server.traffic.refused
        assert (found["unauthenticated"], found["unknown_method"]) == (2, 1)


async def test_grpc_reads_no_request_by_itself(germane: Germane) -> None:
    """gRPC reads the request of a unary handler before the key can be verified, so no handler is unary."""
    gate = ServerInterceptor(Ports(keys=germane.keys))
    for method in registry(germane, LoopBridge(), Clock(), GrpcServer(germane, patient()).assemblies).methods:

        async def found(details: Any, method: Any = method) -> Any:
            return method

        details: Any = SimpleNamespace(method=method.name, invocation_metadata=())
        handler = await gate.intercept_service(found, details)
        assert handler is not None
        assert handler.request_streaming


async def test_calls_left_open_without_a_key_take_no_slot_from_those_with_one(germane: Germane) -> None:
    """Watches, checks and assemblies whose request never comes, many times as many as there are slots."""
    async with listening(germane, keys=germane.keys, limits=Limits(calls=2, keys=2, health=4)) as wire:
        key = await shown(germane)
        open = [half_open(wire, rpc) for rpc in (ASSEMBLE, CHECK, WATCH) for _ in range(20)]
        watches = [raw(wire, WATCH, stream=True)(b"", timeout=PATIENCE) for _ in range(20)]
        await watched(wire)
        assert wire.server.traffic.used["health"] <= 4
        for _ in range(5):
            assert (await refused(wire.assembly.AssembleContext(asked(), metadata=key)))[0] == "OK"
        assert wire.server.traffic.refused["slots"] == 0
        for call in (*open, *watches):
            call.cancel()


async def test_wrong_keys_under_verification_take_nothing_from_good_ones(germane: Germane) -> None:
    """A store that doesn't answer for them holds up a few of them, and no key that opened something before."""
    release, good = asyncio.Event(), [("x-api-key", "good")]

    class Slow:
        async def verify(self, token: str, *, patience: float | None = None) -> Grant | None:
            if token == "good":
                return Grant(key="k", org="acme")
            await release.wait()
            return None

    async with listening(germane, keys=Slow(), limits=Limits(keys=1)) as wire:
        assert (await refused(wire.assembly.AssembleContext(asked(), metadata=good)))[0] == "OK"
        bad = [half_open(wire, ASSEMBLE, metadata=[("x-api-key", f"bad{number}")]) for number in range(5)]
        ends = [asyncio.create_task(refused(call)) for call in bad]
        await until(lambda: wire.server.traffic.refused["keys"] == 4)
        assert wire.server.traffic.used["keys"] == 1
        assert (await refused(wire.assembly.AssembleContext(asked(), metadata=good)))[0] == "OK"
        release.set()
        codes = [code for code, _ in await asyncio.gather(*ends)]
        assert sorted(codes) == ["RESOURCE_EXHAUSTED"] * 4 + ["UNAUTHENTICATED"]
        await until(lambda: wire.server.traffic.used["keys"] == 0)


async def test_a_new_key_that_is_not_verified_in_time_is_told_so(germane: Germane) -> None:
    """It may be good: UNAVAILABLE, so that its caller tries again."""

    class Hanging:
        async def verify(self, token: str, *, patience: float | None = None) -> Grant | None:
            await asyncio.Event().wait()
            return None

    async with listening(germane, keys=Hanging(), limits=Limits(key_seconds=0.01)) as wire:
        told = await refused(wire.assembly.AssembleContext(asked(), metadata=[("x-api-key", "k")]))
        assert told == ("UNAVAILABLE", "the key can't be verified now: try again")


async def test_the_oldest_watch_makes_room_for_a_new_one(germane: Germane) -> None:
    """So a load balancer always gets in."""
    async with listening(germane, keys=germane.keys, limits=Limits(health=2)) as wire:
        first, second, third = [await watched(wire) for _ in range(3)]
        assert await first.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        await wire.server.ready(False)
        for watch in (second, third):
            assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            watch.cancel()


@pytest.mark.parametrize("with_key", [True, False])
async def test_a_watch_ends_with_what_watchers_begin_again_after(germane: Germane, with_key: bool) -> None:
    """UNAVAILABLE; only UNIMPLEMENTED would keep them from it. Also where its time is over before its first word is written."""
    async with listening(germane, keys=germane.keys, limits=Limits(watch_seconds=0.0)) as wire:
        metadata = await shown(germane) if with_key else None
        watch = health(wire).Watch(health_pb2.HealthCheckRequest(), timeout=PATIENCE, metadata=metadata)
        assert (await refused(watch))[0] == "UNAVAILABLE"
        assert (await health(wire).Check(health_pb2.HealthCheckRequest())).status == SERVING


async def test_health_is_told_without_a_key_before_anything_is_read(germane: Germane) -> None:
    """Without a valid key, the answer is for the server as a whole; with one, it is for the service that the request names."""
    async with listening(germane, keys=germane.keys) as wire:
        wrong = [("x-api-key", "k")]
        for given in (None, wrong):
            told = await half_open(wire, CHECK, metadata=given)
            assert health_pb2.HealthCheckResponse.FromString(told).status == SERVING
        other = health_pb2.HealthCheckRequest(service="other")
        assert (await health(wire).Check(other)).status == SERVING
        key = await shown(germane)
        assert (await refused(health(wire).Check(other, metadata=key)))[0] == "NOT_FOUND"
        assert (await refused(raw(wire, CHECK)(b"\xff", metadata=key)))[0] == "INVALID_ARGUMENT"


async def test_many_checks_at_once_are_all_answered(germane: Germane) -> None:
    """Watches don't block one another."""
    async with listening(germane, keys=germane.keys, limits=Limits(health=1)) as wire:
        checks = [health(wire).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE) for _ in range(60)]
        assert {answer.status for answer in await asyncio.gather(*checks)} == {SERVING}


async def test_a_request_that_does_not_come_ends_a_call_with_a_good_key(germane: Germane) -> None:
    """A slot is not for waiting; nor is a call without any request one."""
    async with listening(germane, keys=germane.keys, limits=Limits(body_seconds=0.01)) as wire:
        key = await shown(germane)
        code, text = await refused(half_open(wire, ASSEMBLE, metadata=key))
        assert (code, text) == ("DEADLINE_EXCEEDED", "the request didn't come within 0.01 s")
        await until(lambda: wire.server.traffic.used["calls"] == 0)
        assert wire.server.traffic.refused["body"] == 1
    async with listening(germane, keys=germane.keys) as wire:
        empty = half_open(wire, ASSEMBLE, metadata=key)
        await empty.done_writing()
        assert (await refused(empty))[0] == "INVALID_ARGUMENT"


async def test_one_org_cannot_take_every_slot(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets half of the slots; the other half stays free for the next org, and the error says why."""
    release = asyncio.Event()

    async def directive(*_: Any) -> str:
        await release.wait()
        return ""

    monkeypatch.setattr(Agent, "directive", directive)
    async with listening(germane, keys=germane.keys, limits=Limits(calls=4)) as wire:
        greedy, other = await shown(germane, "acme"), await shown(germane, "other")
        held = [asyncio.ensure_future(answered(calling(wire, "directive", metadata=greedy))) for _ in range(2)]
        await until(lambda: wire.server.traffic.used["calls"] == 2)
        code, text = await refused(half_open(wire, ASSEMBLE, metadata=greedy))
        assert code == "RESOURCE_EXHAUSTED"
        assert "org" in text
        assert (await refused(wire.assembly.AssembleContext(asked(org_id="other"), metadata=other)))[0] == "OK"
        release.set()
        await asyncio.gather(*held)
        assert (await refused(wire.assembly.AssembleContext(asked(), metadata=greedy)))[0] == "OK"


async def test_a_key_that_was_revoked_gives_its_slot_back(germane: Germane) -> None:
    """Familiar or not, it is verified each time."""
    async with listening(germane, keys=germane.keys, limits=Limits(calls=2)) as wire:
        issued = await germane.keys.create(org="acme")
        key = [("x-api-key", issued.token)]
        assert (await refused(wire.assembly.AssembleContext(asked(), metadata=key)))[0] == "OK"
        await germane.keys.revoke(issued.key.id)
        for _ in range(5):
            assert (await refused(wire.assembly.AssembleContext(asked(), metadata=key)))[0] == "UNAUTHENTICATED"
        await until(lambda: wire.server.traffic.used["calls"] == 0)


async def test_calls_that_end_in_any_way_give_their_slots_back(germane: Germane) -> None:
    """After an answer, a refusal, a cancellation, and a request that is no message."""
    async with listening(germane, keys=germane.keys) as wire:
        key = await shown(germane)
        for _ in range(5):
            await refused(wire.assembly.AssembleContext(asked(), metadata=key))
            await refused(wire.assembly.AssembleContext(asked(model=""), metadata=key))
            await refused(raw(wire, ASSEMBLE)(b"\xff", metadata=key))
            await refused(wire.memories.Export(pb.ExportRequest(scope=SCOPE), metadata=key))
            half_open(wire, ASSEMBLE, metadata=key).cancel()
            wire.assembly.AssembleContext(asked(), metadata=key).cancel()
        await until(lambda: not any(wire.server.traffic.used.values()))


async def reflected(wire: Wire, germane: Germane) -> Any:
    """A call of reflection that has asked for nothing yet."""
    channel: Any = wire.channel
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    return stub.ServerReflectionInfo(metadata=await shown(germane), timeout=PATIENCE)


async def test_reflection_has_a_slot(germane: Germane) -> None:
    """With a key; it is a call as others."""
    async with listening(germane, keys=germane.keys) as wire:
        call = await reflected(wire, germane)
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        assert (await call.read()).list_services_response.service
        assert wire.server.traffic.used["calls"] == 1
        call.cancel()
        await until(lambda: wire.server.traffic.used["calls"] == 0)


async def test_reflection_ends_after_a_while(germane: Germane) -> None:
    """So a caller can't hold a slot by it for ever."""
    async with listening(germane, keys=germane.keys, limits=Limits(reflection_seconds=0.0)) as wire:
        call = await reflected(wire, germane)
        assert await call.code() == grpc.StatusCode.UNAVAILABLE
        await until(lambda: wire.server.traffic.used["calls"] == 0)


async def test_what_is_cancelled_in_its_first_write_still_ends_with_a_status() -> None:
    """The initial metadata are sent whole, so that the status doesn't bring them a second time."""
    begun, flushed, sent = asyncio.Event(), asyncio.Event(), []

    class Slow:
        async def send_initial_metadata(self, metadata: object) -> None:
            begun.set()
            await flushed.wait()
            sent.append(metadata)

    context: Any = Slow()
    call = asyncio.create_task(send_initial_metadata(context))
    await begun.wait()
    call.cancel()
    await asyncio.sleep(0)
    assert not call.done()
    flushed.set()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert sent == [()]


async def test_without_keys_every_call_counts_as_one_with_a_good_key(germane: Germane) -> None:
    """On loopback, for development."""
    async with listening(germane, limits=Limits(calls=1)) as wire:
        open = half_open(wire, ASSEMBLE)
        await until(lambda: wire.server.traffic.full)
        assert (await refused(wire.assembly.AssembleContext(asked())))[0] == "RESOURCE_EXHAUSTED"
        assert (await health(wire).Check(health_pb2.HealthCheckRequest())).status == SERVING
        open.cancel()
