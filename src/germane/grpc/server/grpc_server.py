"""gRPC server: serves an open `Germane` on a gRPC port.

Signals, worker processes and the event loop are its caller's.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from germane.api.germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.handover.hand_over import HandOver
from germane.grpc.handover.siblings import Siblings, WorkerPlace
from germane.grpc.messages import context_pb2, ibex_pb2, memory_pb2, operation_pb2
from germane.grpc.server.admission import Limits, Ports
from germane.grpc.server.assembly_servicer import Assemblies, AssemblyServicer, GermaneResponses, IbexResponses
from germane.grpc.server.authorisation import AgentResolver, Keys
from germane.grpc.server.call import Registry, RpcObserver
from germane.grpc.server.interceptor import ServerInterceptor
from germane.grpc.server.memory_servicer import MemoryServicer, MessageServicer
from germane.grpc.server.operation_servicer import OperationServicer
from germane.grpc.server.port import LoopBridge, bind, options
from germane.settings.serving import ServiceSettings
from germane.types.traffic import Traffic

_ASSEMBLY = "ContextAssemblyService"
_STOP_SECONDS = 1.0
"""Seconds for calls that were ended with a status; after them gRPC cancels the rest."""


def registry(
    germane: Germane, bridge: LoopBridge, clock: Clock, assemblies: Assemblies, siblings: Siblings | None = None
) -> Registry:
    """Returns the registry of every RPC of both contracts. With `siblings`, assemblies may be answered by another worker."""
    resolver, methods = AgentResolver(germane), Registry()
    for contract, responses in ((context_pb2, GermaneResponses()), (ibex_pb2, IbexResponses())):
        service = contract.DESCRIPTOR.services_by_name[_ASSEMBLY]
        own = AssemblyServicer(resolver, responses, assemblies, clock)
        methods.add(service, own if siblings is None else HandOver(own, service, resolver, siblings, clock))
    methods.add(memory_pb2.DESCRIPTOR.services_by_name["MemoryService"], MemoryServicer(resolver), bridge)
    methods.add(memory_pb2.DESCRIPTOR.services_by_name["MessageService"], MessageServicer(resolver), bridge)
    methods.add(operation_pb2.DESCRIPTOR.services_by_name["OperationService"], OperationServicer(resolver, bridge))
    return methods


class GrpcServer:
    """Serves `germane`, which must be open on the running loop, from `start` to `stop`. It doesn't close `germane`.

    `ports` are open, and closed by their caller; a server that is given none has its own, with `keys`, `limits` and `clock`.
    `keys` is `germane.keys`; None disables authentication, which raises `InvalidInput` for an address that isn't loopback. Of
    `settings` the server uses what concerns gRPC. With a `worker`, several processes listen on one port, and hand assemblies
    over to the least busy of them. A call beyond the limits ends with RESOURCE_EXHAUSTED before its request is read.
    """

    def __init__(
        self,
        germane: Germane,
        settings: ServiceSettings,
        *,
        ports: Ports | None = None,
        keys: Keys | None = None,
        worker: WorkerPlace | None = None,
        clock: Clock | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._owns_ports = ports is None
        self._ports = ports or Ports(keys=keys, limits=limits, clock=clock)
        if self._ports.keys is None and not settings.grpc.loopback:
            raise InvalidInput(f"grpc: {settings.grpc} is reached from elsewhere: serve 127.0.0.1, or ask for keys")
        self.address = settings.grpc
        self._germane, self._settings = germane, settings
        ports = self._ports
        seconds = settings.deadline_ms / 1000
        self.assemblies = Assemblies(AgentResolver(germane), ports.bridge, ports.clock, seconds)
        self._shared, self._siblings = worker is not None, None if worker is None else Siblings(worker)
        self._running: _RunningServer | None = None
        self._ready = True

    async def start(self, observer: RpcObserver | None = None) -> None:
        """Starts listening and sets `address` to the real port. The observer is called in the port's thread. Raises
        `InvalidInput` for an address or a certificate that can't be used."""
        ports, siblings = self._ports, self._siblings
        if self._owns_ports:
            await ports.open()
        methods = registry(self._germane, ports.bridge, ports.clock, self.assemblies, siblings)

        async def listen() -> _RunningServer:
            if siblings is not None:
                await siblings.open()
            interceptor = ServerInterceptor(ports, observer)
            server = grpc.aio.server(interceptors=(interceptor,), options=options(self._settings, shared=self._shared))
            server.add_generic_rpc_handlers((methods,))
            running = _RunningServer(server, interceptor, methods.services, siblings)
            self.address = bind(server, self._settings)
            await running.ready(self._ready)
            await server.start()
            return running

        try:
            self._running = await ports.bridge.on_port(listen)
        except BaseException:
            if self._owns_ports:
                await ports.close()
            raise

    @property
    def traffic(self) -> Traffic:
        """Counts of the calls that run now, and of those admitted and refused so far. Thread-safe."""
        traffic = self._ports.slots.traffic
        return traffic if self._siblings is None else replace(traffic, handed_over=dict(self._siblings.handed_over))

    async def ready(self, ready: bool) -> None:
        """Sets the health status of the server and each service: SERVING (the default) or NOT_SERVING. Calls are answered with
        either."""
        self._ready = ready
        if (running := self._running) is not None:
            await self._ports.bridge.on_port(lambda: running.ready(ready))

    async def stop(self, grace: float) -> None:
        """Sets health to NOT_SERVING, refuses new calls, and ends those that still run after `grace` seconds. Idempotent; a
        second call may have a shorter `grace`."""
        if (running := self._running) is not None:
            await self._ports.bridge.on_port(lambda: running.stop(grace))
            self._running = None
            if self._owns_ports:
                await self._ports.close()


class _RunningServer:
    """The parts of a started server that belong to the port's loop: gRPC's server, health and reflection."""

    def __init__(
        self, server: grpc.aio.Server, interceptor: ServerInterceptor, services: tuple[str, ...], siblings: Siblings | None
    ) -> None:
        self._server, self._interceptor, self._siblings = server, interceptor, siblings
        self._services = (*services, health.SERVICE_NAME, reflection.SERVICE_NAME)
        self._health = health.aio.HealthServicer()
        self._ending: asyncio.Task[None] | None = None
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        reflection.enable_server_reflection(self._services, server)

    async def ready(self, ready: bool) -> None:
        status = health_pb2.HealthCheckResponse.SERVING if ready else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in (health.OVERALL_HEALTH, *self._services):
            await self._health.set(service, status)

    async def stop(self, grace: float) -> None:
        """Stops gRPC's server only once and with time to spare, because a second stop() during its shutdown can fail."""
        if self._ending is None:
            await self._health.enter_graceful_shutdown()
            self._ending = asyncio.create_task(self._server.stop(grace + _STOP_SECONDS))
        idle = asyncio.create_task(self._interceptor.idle())
        await asyncio.wait([self._ending, idle], timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        self._interceptor.end()
        await asyncio.wait([self._ending])
        if self._siblings is not None:
            await self._siblings.close()
