"""Server: an open `Germane` behind a port. Not a process: signals, workers and the loop belong to whoever starts it."""

from __future__ import annotations

import asyncio

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.germane import Germane
from germane.grpc.answers import GermaneAnswers, IbexAnswers
from germane.grpc.assembling import Assembling
from germane.grpc.authentication import Keys
from germane.grpc.call import Observer
from germane.grpc.directives import Directives
from germane.grpc.events import Events
from germane.grpc.gate import Gate
from germane.grpc.memories import Memories
from germane.grpc.methods import Registry
from germane.grpc.port import bound, options
from germane.grpc.reach import Reach
from germane.grpc.stubs import context_pb2, ibex_pb2, memory_pb2
from germane.serving import Serving

__all__ = ["GrpcServer", "registry"]

_ASSEMBLY = "ContextAssemblyService"
_MOST = 2000
"""Calls at once, of all kinds: beyond that they end with RESOURCE_EXHAUSTED, before anything of them is read. Too many
assemblies are refused long before, by the engine, with an answer."""
_DONE = 0.5
"""Seconds for what nobody waits for once every call has ended: watchers of health, idle reflection."""


def registry(germane: Germane, clock: Clock) -> Registry:
    """Every RPC of germane's own, and what answers it."""
    reach, found = Reach(germane), Registry()
    found.add(context_pb2.DESCRIPTOR.services_by_name[_ASSEMBLY], Assembling(reach, GermaneAnswers(), clock))
    found.add(ibex_pb2.DESCRIPTOR.services_by_name[_ASSEMBLY], Assembling(reach, IbexAnswers(), clock))
    found.add(memory_pb2.DESCRIPTOR.services_by_name["MemoryService"], Memories(reach))
    found.add(memory_pb2.DESCRIPTOR.services_by_name["EventService"], Events(reach))
    found.add(memory_pb2.DESCRIPTOR.services_by_name["DirectiveService"], Directives(reach))
    return found


class GrpcServer:
    """`start` listens, `stop` ends; in between it serves `germane`, which stays its opener's to close. Of `serving` it reads
    what is about gRPC.

    Without `keys` (`germane.keys`) everybody is let in: refused for an address that isn't loopback. With `shared`, several
    processes can listen on one port.
    """

    def __init__(
        self,
        germane: Germane,
        serving: Serving,
        *,
        keys: Keys | None = None,
        shared: bool = False,
        clock: Clock | None = None,
        most: int = _MOST,
    ) -> None:
        if keys is None and not serving.grpc.loopback:
            raise InvalidInput(f"grpc: {serving.grpc} is reached from elsewhere: serve 127.0.0.1, or ask for keys")
        clock = clock or Clock()
        self.address = serving.grpc
        self._serving, self._shared, self._most = serving, shared, most
        self._gate = Gate(keys=keys, clock=clock)
        self._registry = registry(germane, clock)
        self._checks = health.aio.HealthServicer()
        self._server: grpc.aio.Server | None = None
        self._ready = True

    @property
    def services(self) -> tuple[str, ...]:
        """By full name, health and reflection included."""
        return (*self._registry.services, health.SERVICE_NAME, reflection.SERVICE_NAME)

    async def start(self, observer: Observer | None = None) -> None:
        """From now on it answers; `address` has the real port. Raises `InvalidInput` for an address or a certificate that can't
        be used."""
        self._gate.observer = observer
        server = grpc.aio.server(
            interceptors=(self._gate,),
            options=options(self._serving, shared=self._shared),
            maximum_concurrent_rpcs=self._most,
        )
        server.add_generic_rpc_handlers((self._registry,))
        health_pb2_grpc.add_HealthServicer_to_server(self._checks, server)
        reflection.enable_server_reflection(self.services, server)
        self.address = bound(server, self._serving)
        await self.ready(self._ready)
        await server.start()
        self._server = server

    async def ready(self, ready: bool) -> None:
        """What health answers: for the server as a whole and for each service. SERVING unless said otherwise. Calls are
        answered all the same."""
        self._ready = ready
        status = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in (health.OVERALL_HEALTH, *self.services):
            await self._checks.set(service, status)

    async def stop(self, grace: float) -> None:
        """No new calls; those that run have `grace` seconds to end, and are cancelled then. Health says NOT_SERVING first.
        Again is fine, with less grace too."""
        await self._checks.enter_graceful_shutdown()
        if (server := self._server) is None:
            return
        ending = asyncio.ensure_future(server.stop(grace))
        idle = asyncio.ensure_future(self._gate.idle())
        await asyncio.wait([ending, idle], timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        await server.stop(min(grace, _DONE))
        await ending
