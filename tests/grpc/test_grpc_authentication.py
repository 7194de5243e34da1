"""Keys over the wire: no data without a key, and with a key only what the key allows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput, StoreUnavailable
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server.authorisation import presented_key
from germane.grpc.server.grpc_server import GrpcServer, registry
from germane.grpc.server.port import LoopBridge
from germane.kinds.keys.value import Grant
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address
from support.listening import SCOPE, Wire, asked, calling, ibex_asked, listening, opened, patient, raw, refused

pytestmark = pytest.mark.requirement("RPC-5")

DENIED = ("PERMISSION_DENIED", "the API key doesn't open this")


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as germane:
        yield germane


@pytest.fixture
async def wire(germane: Germane) -> AsyncIterator[Wire]:
    async with listening(germane, keys=germane.keys) as wire:
        yield wire


async def shown(germane: Germane, **wanted: Any) -> list[tuple[str, str]]:
    issued = await germane.keys.create(**{"org": "acme", **wanted})
    return [("authorization", f"Bearer {issued.token}")]


async def test_every_rpc_there_is_asks_for_a_key(germane: Germane, wire: Wire) -> None:
    """The test takes the RPCs from the registry itself, so that no RPC can be missing. All give the same error."""
    methods = registry(germane, LoopBridge(), Clock(), GrpcServer(germane, patient()).assemblies).methods
    told = set()
    for method in methods:
        told.add(await refused(raw(wire, method.name, stream=method.stream is not None)(b"")))
    assert len(methods) == 10
    assert {code for code, _ in told} == {"UNAUTHENTICATED"}
    assert len(told) == 1


async def test_no_wrong_key_is_told_from_another(germane: Germane, wire: Wire) -> None:
    """Missing, malformed, unknown, revoked and expired keys give the same text."""
    revoked = await germane.keys.create(org="acme")
    await germane.keys.revoke(revoked.key.id)
    other = f"gk_{'a' * 16}_{'b' * 52}"
    headers = [
        None,
        [("authorization", "Bearer ")],
        [("authorization", "Basic abc")],
        [("authorization", "Bearer not a key")],
        [("authorization", f"Bearer {other}")],
        [("x-api-key", revoked.token)],
    ]
    told = {await refused(wire.assembly.AssembleContext(asked(), metadata=one)) for one in headers}
    assert {code for code, _ in told} == {"UNAUTHENTICATED"}
    assert len(told) == 1


async def test_a_key_opens_its_org(germane: Germane, wire: Wire) -> None:
    """In either header, under either name of the service; without an org it is the key's."""
    key = await shown(germane)
    token = key[0][1].removeprefix("Bearer ")
    assert (await refused(wire.assembly.AssembleContext(asked(), metadata=key)))[0] == "OK"
    assert (await refused(wire.ibex.AssembleContext(ibex_asked(), metadata=[("x-api-key", token)])))[0] == "OK"
    answer = await wire.assembly.AssembleContext(asked(org_id=""), metadata=key)
    assert answer.metadata.memories_injected == 1


async def test_what_isnt_the_keys_is_denied_whether_it_exists_or_not(germane: Germane, wire: Wire) -> None:
    """No oracle: another org, another agent, a right it lacks."""
    await germane.agent("support", org="other").remember("Another's")
    key = await shown(germane, agents=["support"], rights=["read"])
    for org in ("other", "nobody"):
        assert await refused(wire.assembly.AssembleContext(asked(org_id=org), metadata=key)) == DENIED
        listing = calling(wire, "memories.list", whose=pb.Scope(org_id=org, agent_id="support"), metadata=key)
        assert await refused(listing) == DENIED
        export = pb.ExportRequest(scope=pb.Scope(org_id=org, agent_id="support"))
        assert await refused(wire.memories.Export(export, metadata=key)) == DENIED
    assert await refused(wire.assembly.AssembleContext(asked(agent_id="sales"), metadata=key)) == DENIED
    assert await refused(wire.memories.Remember(pb.RememberRequest(scope=SCOPE, text="x"), metadata=key)) == DENIED
    assert await refused(calling(wire, "set_directive", metadata=key, text="")) == DENIED
    assert (await refused(calling(wire, "memories.list", metadata=key)))[0] == "OK"


async def test_a_key_that_may_only_write_reads_nothing(germane: Germane, wire: Wire) -> None:
    """The rights read and write don't include each other."""
    key = await shown(germane, rights=["write"])
    assert await refused(wire.assembly.AssembleContext(asked(), metadata=key)) == DENIED
    assert (await refused(wire.memories.Remember(pb.RememberRequest(scope=SCOPE, text="x"), metadata=key)))[0] == "OK"


async def test_a_key_is_looked_at_before_the_request(wire: Wire) -> None:
    """A caller without a valid key doesn't learn what else is wrong with the request."""
    assert (await refused(wire.assembly.AssembleContext(asked(model=""))))[0] == "UNAUTHENTICATED"
    malformed = raw(wire, "/germane.context.v1.ContextAssemblyService/AssembleContext")(b"\xff")
    assert (await refused(malformed))[0] == "UNAUTHENTICATED"


async def test_health_is_open_and_reflection_isnt(germane: Germane, wire: Wire) -> None:
    """Load balancers have no key."""
    health: Any = health_pb2_grpc.HealthStub(wire.channel)
    checked = await health.Check(health_pb2.HealthCheckRequest())
    assert checked.status == health_pb2.HealthCheckResponse.SERVING
    asking = [reflection_pb2.ServerReflectionRequest(list_services="")]
    told = raw(wire, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", stream=True)
    assert (await refused(told(asking[0].SerializeToString())))[0] == "UNAUTHENTICATED"
    channel: Any = wire.channel
    reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    found = [one async for one in reflection.ServerReflectionInfo(iter(asking), metadata=await shown(germane))]
    assert len(found[0].list_services_response.service) == 7


async def test_keys_that_cant_be_checked_let_nobody_in(germane: Germane) -> None:
    """Neither good nor bad: UNAVAILABLE, so that callers try again."""

    class Unreachable:
        async def verify(self, token: str, *, patience: float | None = None) -> Grant | None:
            raise StoreUnavailable("secret path")

    async with listening(germane, keys=Unreachable()) as wire:
        code, text = await refused(wire.assembly.AssembleContext(asked(), metadata=[("x-api-key", "k")]))
    assert code == "UNAVAILABLE"
    assert "secret" not in text


async def test_an_address_others_reach_isnt_served_without_keys(germane: Germane) -> None:
    """The constructor refuses it."""
    everywhere = ServiceSettings(grpc=Address(host="0.0.0.0", port=0), http=None, plaintext=True)
    with pytest.raises(InvalidInput, match="keys"):
        GrpcServer(germane, everywhere)


@pytest.mark.parametrize(
    ("metadata", "token"),
    [
        ([("authorization", "Bearer k")], "k"),
        ([("authorization", "bearer   k ")], "k"),
        ([("x-api-key", "k")], "k"),
        ([("authorization", "Basic x"), ("x-api-key", "k")], "k"),
        ([("authorization", "Bearer a"), ("authorization", "Bearer b")], "a"),
        ([("authorization", "Bearer"), ("other", "k")], None),
        ([], None),
        (None, None),
    ],
)
def test_a_key_is_found_in_either_header(metadata: Any, token: str | None) -> None:
    """The first of a kind counts."""
    assert presented_key(metadata) == token
