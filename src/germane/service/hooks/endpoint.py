"""Endpoint: `POST /hooks/{client}` of the local service: an event comes in, and an answer goes out before its deadline.

Whatever goes wrong behind the key is answered with 200 and an empty object: nothing is added. The engine's loop
answers `/hooks/alive`, and `/hooks/stop` ends the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send

from germane.grpc.server.admission import Ports
from germane.service.hooks.answers import DEADLINES, HookAnswers
from germane.service.hooks.events import CLIENTS, read_event
from germane.service.http.answers import HttpAnswer, refusal_of
from germane.service.http.problems import HttpRefused, problem
from germane.service.http.requests import Disconnected, HttpRequest
from germane.service.local.caller import PROTOCOL
from germane.types.json_text import write_json

ROOT = b"/hooks/"
_ALIVE, _STOP = "alive", "stop"
_BODY_SECONDS = 1.0
MAX_BODY, _INLINE = 16 << 20, 1 << 18
"""Bytes of an event, which has a tool's whole result; and those that are read at once."""
_GRACE = 0.05
"""Seconds after an answer's deadline at which nothing is waited for any more."""
_TOO_NEW = "germane: this hook belongs to a newer version than the service that runs; run `germane doctor --client {}`"


class HookPort:
    """The ASGI application for the paths under `/hooks/`, on the ports' loop. `stop` is called on the engine's loop."""

    def __init__(self, answers: HookAnswers, ports: Ports, stop: Callable[[], object]) -> None:
        self._answers, self._ports, self._stop = answers, ports, stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = HttpRequest(scope, receive)
        try:
            given = await self._answer(request)
            answer = HttpAnswer(HTTPStatus.OK, {"content-type": "application/json"}, write_json(given))
        except Disconnected:
            return
        except Exception as error:
            answer = refusal_of(problem(error))
        await answer.send(request, send)

    async def _answer(self, request: HttpRequest) -> Mapping[str, Any]:
        """Returns the answer. Raises what refuses a request: a page of another site, a missing key, an unknown path."""
        request.check_origin()
        name = request.raw_path.removeprefix(ROOT).decode("ascii", "replace")
        if request.method != "POST":
            raise HttpRefused(HTTPStatus.METHOD_NOT_ALLOWED, "a hook's event is posted", allow="POST")
        await self._ports.admission.admit(request.metadata, "read", lambda: request.peer)
        body = await request.body(MAX_BODY, _BODY_SECONDS)
        if name == _STOP:
            await self._ports.bridge.on_engine(self._stopped)
            return {}
        if name == _ALIVE:
            await self._ports.bridge.on_engine(_turn)
            return {}
        client = CLIENTS.get(name)
        if client is None:
            raise HttpRefused(HTTPStatus.NOT_FOUND, "no client has this name")
        if _protocol(request.query) > PROTOCOL:
            return {"systemMessage": _TOO_NEW.format(name)}
        event = await asyncio.to_thread(read_event, client, body) if len(body) > _INLINE else read_event(client, body)
        if event is None:
            return {}
        try:
            async with asyncio.timeout(DEADLINES[event.moment] + _GRACE):
                return await self._ports.bridge.on_engine(lambda: self._answers.answer(event))
        except Exception:  # the event's hook adds nothing
            return {}

    async def _stopped(self) -> None:
        self._stop()


async def _turn() -> None:
    """A turn of the engine's loop."""


def _protocol(query: bytes) -> int:
    _, named, number = query.partition(b"protocol=")
    return int(number) if named and number.isdigit() and len(number) < 9 else 0
