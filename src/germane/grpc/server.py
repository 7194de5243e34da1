"""Server: an open `Germane` behind a port. Not a process: signals, workers and the loop belong to whoever starts it."""

from __future__ import annotations

import asyncio
from time import monotonic

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from germane.api.germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.admission import Admission
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.assemble_response import GermaneAnswers, IbexAnswers
from germane.grpc.assembling import Assembling
from germane.grpc.authentication import Keys
from germane.grpc.call import Observer
from germane.grpc.directives import Directives
from germane.grpc.events import Events
from germane.grpc.loop_bridge import LoopBridge
from germane.grpc.memories import Memories
from germane.grpc.methods import Registry
from germane.grpc.port import bound, options
from germane.grpc.server_interceptor import ServerInterceptor
from germane.grpc.slots import Limits, Slots
from germane.grpc.stubs import context_pb2, ibex_pb2, memory_pb2
from germane.observe.traffic import Traffic
from germane.settings.serving import ServiceSettings

__all__ = ["GrpcServer", "registry"]

_ASSEMBLY = "ContextAssemblyService"
_MORE = 1.0
"""Seconds for calls that were told to end: after them gRPC cancels what is left."""


def registry(germane: Germane, apart: LoopBridge, clock: Clock) -> Registry:
    """Every RPC of germane's own, and what answers it."""
    reach, found = AgentResolver(germane), Registry()
    found.add(context_pb2.DESCRIPTOR.services_by_name[_ASSEMBLY], Assembling(reach, GermaneAnswers(), apart, clock))
    found.add(ibex_pb2.DESCRIPTOR.services_by_name[_ASSEMBLY], Assembling(reach, IbexAnswers(), apart, clock))
    found.add(memory_pb2.DESCRIPTOR.services_by_name["MemoryService"], Memories(reach), apart)
    found.add(memory_pb2.DESCRIPTOR.services_by_name["EventService"], Events(reach), apart)
    found.add(memory_pb2.DESCRIPTOR.services_by_name["DirectiveService"], Directives(reach), apart)
    return found


class GrpcServer:
    """`start` listens, `stop` ends; in between it serves `germane`, which is open on the running loop and stays its opener's to
    close. Of `serving` it reads what is about gRPC.

    Without `keys` (`germane.keys`) everybody is let in: refused for an address that isn't loopback. With `shared`, several
    processes can listen on one port. `clock.steady` is read in two threads. Beyond the `limits` calls end with
    RESOURCE_EXHAUSTED before anything of them is read.
    """

    def __init__(
        self,
        germane: Germane,
        serving: ServiceSettings,
        *,
        keys: Keys | None = None,
        shared: bool = False,
        clock: Clock | None = None,
        limits: Limits | None = None,
    ) -> None:
        if keys is None and not serving.grpc.loopback:
            raise InvalidInput(f"grpc: {serving.grpc} is reached from elsewhere: serve 127.0.0.1, or ask for keys")
        self.address = serving.grpc
        self._germane, self._serving, self._keys = germane, serving, keys
        self._shared, self._clock = shared, clock or Clock(steady=monotonic)
        self._limits = limits or Limits()
        self._slots = Slots(self._limits)
        self._listening: _Listening | None = None
        self._apart: LoopBridge | None = None
        self._ready = True

    async def start(self, observer: Observer | None = None) -> None:
        """From now on it answers; `address` has the real port. The observer is told in the port's thread. Raises `InvalidInput`
        for an address or a certificate that can't be used."""
        apart = self._apart = LoopBridge()
        await apart.open()
        own = registry(self._germane, apart, self._clock)

        async def listen() -> _Listening:
            admission = Admission(keys=self._keys, apart=apart, slots=self._slots, limits=self._limits)
            gate = ServerInterceptor(admission, self._slots, clock=self._clock, limits=self._limits, observer=observer)
            server = grpc.aio.server(interceptors=(gate,), options=options(self._serving, shared=self._shared))
            server.add_generic_rpc_handlers((own,))
            listening = _Listening(server, gate, own.services)
            self.address = bound(server, self._serving)
            await listening.ready(self._ready)
            await server.start()
            return listening

        try:
            self._listening = await apart.there(listen)
        except BaseException:
            await apart.close()
            raise

    @property
    def traffic(self) -> Traffic:
        """What is under way now and was turned away so far. From any thread."""
        return self._slots.traffic

    async def ready(self, ready: bool) -> None:
        """What health answers: for the server as a whole and for each service. SERVING unless said otherwise. Calls are
        answered all the same."""
        self._ready = ready
        if (listening := self._listening) is not None and self._apart is not None:
            await self._apart.there(lambda: listening.ready(ready))

    async def stop(self, grace: float) -> None:
        """No new calls; those that run have `grace` seconds to end, and are cancelled then. Health says NOT_SERVING first.
        Again is fine, with less grace too."""
        if (listening := self._listening) is not None and self._apart is not None:
            await self._apart.there(lambda: listening.stop(grace))
            self._listening = None
            await self._apart.close()


class _Listening:
    """What lives on the port's loop."""

    def __init__(self, server: grpc.aio.Server, gate: ServerInterceptor, services: tuple[str, ...]) -> None:
        self._server, self._gate = server, gate
        self._services = (*services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        self._checks = health.aio.HealthServicer()
        self._ending: asyncio.Task[None] | None = None
        health_pb2_grpc.add_HealthServicer_to_server(self._checks, server)
        reflection.enable_server_reflection(self._services, server)

    async def ready(self, ready: bool) -> None:
        status = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in (health.OVERALL_HEALTH, *self._services):
            await self._checks.set(service, status)

    async def stop(self, grace: float) -> None:
        """gRPC is told once, with time to spare: told again while the first is under way, it may fall over its own end."""
        if self._ending is None:
            await self._checks.enter_graceful_shutdown()
            self._ending = asyncio.create_task(self._server.stop(grace + _MORE))
        idle = asyncio.create_task(self._gate.idle())
        await asyncio.wait([self._ending, idle], timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        self._gate.end()
        await asyncio.wait([self._ending])
