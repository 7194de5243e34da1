"""Service: `germane serve` on loopback for one person's coding agents: its key and port, hooks beside it, and its idle end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from time import monotonic

from starlette.types import ASGIApp, Receive, Scope, Send

from germane.api.germane import Germane
from germane.errors import InvalidInput
from germane.grpc.server.admission import Ports
from germane.service.hooks.answers import HookAnswers
from germane.service.hooks.endpoint import ROOT, HookPort
from germane.service.local.caller import CLIENTS, ServiceState, is_locked
from germane.service.worker import Listening, serve
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings
from germane.settings.values import Address

DATABASE, SETTINGS = "germane.db", "settings.toml"
"""Files of the folder."""
_HOST = "127.0.0.1"
_PORTS = range(20_000, 30_000)
"""Ports that no system gives to outgoing connections by itself."""
_TRIES = 20
_CHECKS = 20
"""Looks at whether the service is idle, in the time after which it is."""


def serve_locally(folder: Path, state: ServiceState, *, idle: float) -> None:
    """Serves until nobody has called for `idle` seconds and no client holds the service open, or until it is told to stop.
    Writes `state` once it listens. The port is the one that the state names, or another one where that is taken."""
    settings = Settings.load(folder / SETTINGS if (folder / SETTINGS).is_file() else None, {})
    ports = [*([state.port] if state.port else []), *SystemRandom().sample(_PORTS, _TRIES)]
    for port in ports:
        beside = _LocalCompanion(folder, state, idle)
        service = ServiceSettings(
            db=folder / DATABASE,
            grpc=Address(host=_HOST, port=0),
            http=Address(host=_HOST, port=port),
            require_keys=True,
            metrics=False,
            shutdown_seconds=2.0,
            log_level="warning",
        )
        try:
            serve(service, settings, beside.listening, beside=beside)
            return
        except InvalidInput:
            if beside.has_listened or port == ports[-1]:
                raise


class _LocalCompanion:
    """Implements `Companion`: hooks on the HTTP port, and the end when nobody calls any more."""

    def __init__(self, folder: Path, state: ServiceState, idle: float) -> None:
        self._folder, self._state, self._idle = folder, state, idle
        self._called_at = monotonic()
        self._answers: HookAnswers | None = None
        self._hooks: HookPort | None = None
        self._watching: asyncio.Task[None] | None = None
        self.has_listened = False

    async def begin(self, germane: Germane, ports: Ports, stop: Callable[[], object]) -> None:
        """Makes the key of this folder's callers, where the store doesn't know the one that the state names."""
        if not self._state.key or await germane.keys.verify(self._state.key, patience=None) is None:
            self._state.key = (await germane.keys.create(org="default", note="the local service's own")).token
        self._answers = HookAnswers(germane, self._folder)
        self._hooks = HookPort(self._answers, ports, stop)
        self._watching = asyncio.create_task(self._watch(stop))

    def listening(self, where: Listening) -> None:
        """Tells callers where the service is."""
        assert where.http is not None
        self.has_listened = True
        self._state.port, self._state.pid = where.http.port, os.getpid()
        self._state.write(str(self._folder))

    def takes_body(self, target: bytes) -> bool:
        return target.startswith(ROOT)

    def wrap(self, rest: ASGIApp) -> ASGIApp:
        hooks = self._hooks
        assert hooks is not None

        async def port(scope: Scope, receive: Receive, send: Send) -> None:
            self._called_at = monotonic()
            await (hooks if scope["raw_path"].startswith(ROOT) else rest)(scope, receive, send)
            self._called_at = monotonic()

        return port

    async def end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        if self._answers is not None:
            await self._answers.close()

    async def _watch(self, stop: Callable[[], object]) -> None:
        """The lock of the clients is looked at last: to look at it takes it for a moment."""
        while True:
            await asyncio.sleep(self._idle / _CHECKS)
            if monotonic() - self._called_at < self._idle or not self._answers or self._answers.busy:
                continue
            if not is_locked(str(self._folder / CLIENTS), alone=True):
                stop()
                return
