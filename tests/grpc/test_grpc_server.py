"""The server as a whole: health, reflection, stopping, TLS, limits."""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from germane import Germane
from germane.api.agent import Agent
from germane.errors import InvalidInput
from germane.grpc.handover.siblings import WorkerPlace
from germane.grpc.server.admission import Limits
from germane.grpc.server.grpc_server import GrpcServer
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address
from support.certificates import made_certificates
from support.listening import Wire, answered, asked, calling, listening, opened, refused

SERVING, NOT_SERVING = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
SERVICES = {
    "germane.context.v1.ContextAssemblyService",
    "germane.context.v1.MessageService",
    "germane.context.v1.MemoryService",
    "germane.context.v1.OperationService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1alpha.ServerReflection",
    "ibex.context.v1.ContextAssemblyService",
}


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as germane:
        yield germane


@pytest.fixture
async def wire(germane: Germane) -> AsyncIterator[Wire]:
    async with listening(germane) as wire:
        yield wire


def health(wire: Wire) -> Any:
    return health_pb2_grpc.HealthStub(wire.channel)


@pytest.mark.requirement("RPC-2")
async def test_health_says_what_readiness_says(wire: Wire) -> None:
    """For the server as a whole and for each service; an unknown service is NOT_FOUND."""
    for ready, status in ((True, SERVING), (False, NOT_SERVING), (True, SERVING)):
        await wire.server.ready(ready)
        for service in ("", *SERVICES):
            checked = await health(wire).Check(health_pb2.HealthCheckRequest(service=service))
            assert checked.status == status
    assert (await refused(health(wire).Check(health_pb2.HealthCheckRequest(service="other"))))[0] == "NOT_FOUND"


@pytest.mark.requirement("RPC-2")
async def test_reflection_tells_every_service_and_its_messages(wire: Wire) -> None:
    """What grpcurl asks."""
    channel: Any = wire.channel
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    asking = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="germane.context.v1.MemoryService"),
    ]
    services, file = [answer async for answer in stub.ServerReflectionInfo(iter(asking))]
    assert {one.name for one in services.list_services_response.service} == SERVICES
    assert file.file_descriptor_response.file_descriptor_proto


async def test_a_stop_waits_for_what_runs_and_takes_nothing_new(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Health changes first; its watchers are informed, and don't delay the stop."""
    begun, release = asyncio.Event(), asyncio.Event()

    async def directive(*_: Any) -> str:
        begun.set()
        await release.wait()
        return "done"

    monkeypatch.setattr(Agent, "directive", directive)
    async with listening(germane) as wire:
        watching = health(wire).Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == SERVING
        running = asyncio.create_task(answered(calling(wire, "directive")))
        await begun.wait()
        stopping = asyncio.create_task(wire.server.stop(3600))
        assert (await watching.read()).status == NOT_SERVING
        release.set()
        assert await running == "done"
        async with asyncio.timeout(60):
            await stopping
        assert (await refused(wire.assembly.AssembleContext(asked())))[0] == "UNAVAILABLE"


async def test_a_second_stop_hurries_the_first(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs then ends with UNAVAILABLE, its work cancelled."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def directive(*_: Any) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    monkeypatch.setattr(Agent, "directive", directive)
    async with listening(germane) as wire:
        running = asyncio.create_task(answered(calling(wire, "directive")))
        await begun.wait()
        stopping = asyncio.create_task(wire.server.stop(3600))
        await asyncio.sleep(0)
        await wire.server.stop(0)
        assert (await refused(running))[0] == "UNAVAILABLE"
        await stopping
        await ended.wait()
        await wire.server.stop(0)


async def test_a_server_leaves_no_thread_and_no_task(germane: Germane) -> None:
    """Started and stopped, again and again."""
    tasks = asyncio.all_tasks()
    for _ in range(3):
        async with listening(germane) as wire:
            await answered(calling(wire, "directive"))
    assert not [one for one in threading.enumerate() if one.name == "germane-grpc"]
    assert asyncio.all_tasks() == tasks


async def test_a_stop_before_a_start_is_fine(germane: Germane) -> None:
    """Readiness may turn before, too."""
    server = GrpcServer(germane, ServiceSettings(grpc=Address(host="127.0.0.1", port=0), http=None))
    await server.ready(False)
    await server.stop(1)


@pytest.mark.requirement("OPS-2")
async def test_an_address_in_use_is_refused_unless_it_is_shared(germane: Germane, tmp_path: Path) -> None:
    """By several workers, each with the same setting."""
    here = Address(host="127.0.0.1", port=0)
    first = GrpcServer(germane, ServiceSettings(grpc=here, http=None), worker=WorkerPlace(index=0, count=2, folder=tmp_path))
    await first.start()
    serving = ServiceSettings(grpc=first.address, http=None)
    second = GrpcServer(germane, serving, worker=WorkerPlace(index=1, count=2, folder=tmp_path))
    await second.start()
    assert second.address == first.address
    for server in (first, second):
        await server.stop(0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        other = GrpcServer(germane, ServiceSettings(grpc=Address(host="127.0.0.1", port=taken.getsockname()[1]), http=None))
        with pytest.raises(InvalidInput, match="can't be listened on"):
            await other.start()


async def test_calls_beyond_the_limit_end_with_resource_exhausted(germane: Germane, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything of them is read."""
    begun, release = asyncio.Event(), asyncio.Event()

    async def directive(*_: Any) -> str:
        begun.set()
        await release.wait()
        return ""

    monkeypatch.setattr(Agent, "directive", directive)
    async with listening(germane, limits=Limits(calls=1)) as wire:
        running = asyncio.create_task(answered(calling(wire, "directive")))
        await begun.wait()
        assert (await refused(wire.assembly.AssembleContext(asked())))[0] == "RESOURCE_EXHAUSTED"
        release.set()
        await running


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_certificates(tmp_path_factory.mktemp("tls"))


def credentials(folder: Path, name: str | None = None) -> grpc.ChannelCredentials:
    pair = (None, None) if name is None else ((folder / f"{name}.key").read_bytes(), (folder / f"{name}.pem").read_bytes())
    return grpc.ssl_channel_credentials((folder / "ca.pem").read_bytes(), *pair)


@pytest.mark.requirement("RPC-5")
async def test_tls_is_spoken_where_a_certificate_is_given(germane: Germane, certificates: Path) -> None:
    """And nothing else: a caller without it isn't answered."""
    tls: dict[str, Any] = {"tls_cert": certificates / "server.pem", "tls_key": certificates / "server.key"}
    async with listening(germane, credentials=credentials(certificates), **tls) as wire:
        assert (await refused(wire.assembly.AssembleContext(asked())))[0] == "OK"
        async with grpc.aio.insecure_channel(f"localhost:{wire.server.address.port}") as plain:
            assert (await refused(Wire(plain, wire.server).assembly.AssembleContext(asked())))[0] == "UNAVAILABLE"


@pytest.mark.requirement("RPC-5")
@pytest.mark.parametrize(("name", "code"), [("caller", "OK"), ("stranger", "UNAVAILABLE"), (None, "UNAVAILABLE")])
async def test_with_an_authority_callers_need_a_certificate_by_it(
    germane: Germane, certificates: Path, name: str | None, code: str
) -> None:
    """mTLS: none, or a stranger's, and there is no connection."""
    tls: dict[str, Any] = {
        "tls_cert": certificates / "server.pem",
        "tls_key": certificates / "server.key",
        "tls_client_ca": certificates / "ca.pem",
    }
    async with listening(germane, credentials=credentials(certificates, name), **tls) as wire:
        assert (await refused(wire.assembly.AssembleContext(asked())))[0] == code


@pytest.mark.requirement("RPC-5")
async def test_a_key_of_another_certificate_is_refused_at_the_start(germane: Germane, certificates: Path) -> None:
    """And no thread stays behind."""
    pair: dict[str, Any] = {"tls_cert": certificates / "server.pem", "tls_key": certificates / "caller.key"}
    server = GrpcServer(germane, ServiceSettings(grpc=Address(host="127.0.0.1", port=0), http=None, **pair))
    with pytest.raises(InvalidInput, match="don't fit"):
        await server.start()
    gc.collect()
    assert not [one for one in threading.enumerate() if one.name == "germane-grpc"]
