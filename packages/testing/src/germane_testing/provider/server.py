"""Server: the local provider itself, which records each request, asks the script and the rule for a reply, and sends it.

    async with local_provider() as provider:
        client = AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none")

Paths are told by how they end, so that a prefix in front of `/v1` is no matter. Every path that isn't an API's is answered by
an echo: the method, the target, the headers and the hash of the body as they came.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from typing import TypedDict, Unpack
from urllib.parse import parse_qs

from aiohttp import web

from germane_testing.provider.answering import Answer, Ids, Speaks
from germane_testing.provider.binding import Binding
from germane_testing.provider.chat import ChatCompletions
from germane_testing.provider.delivery import Event, Outgoing, disturbed, json_bytes
from germane_testing.provider.fields import Body, mapping
from germane_testing.provider.gemini import Gemini
from germane_testing.provider.messages import Messages
from germane_testing.provider.prompt_cache import PromptCache
from germane_testing.provider.received import Asked, Protocol, Received, Refused
from germane_testing.provider.replies import Chosen, Delivery, Failure, NoAnswer, Reply, Rule, Step, Verbatim, echoes
from germane_testing.provider.responses import Responses
from germane_testing.provider.responses_socket import ResponsesSocket
from germane_testing.provider.stored_responses import StoredResponses
from germane_testing.provider.threads import Threads

__all__ = ["LocalProvider", "ProviderOptions", "local_provider", "provider_in_thread"]

MODELS = ("gpt-5.4", "gpt-5.6", "claude-opus-5-5", "claude-fable-5-1", "gemini-3-pro")
"""What `/v1/models` lists by default."""


class ProviderOptions(TypedDict, total=False):
    """What `local_provider`, `provider_in_thread` and `LocalProvider` take, each by name."""

    script: Sequence[Step]
    """What the first requests get, in order; by default nothing."""
    rule: Rule
    """What all others get; by default `echoes`."""
    strict: bool
    """Whether bodies that break a rule of their protocol are refused; True by default."""
    binding: Binding
    """How thinking is bound to what stands before it; by default as the model named in a request does it."""
    keep_alive: bool
    """Whether connections stay open behind an answer; True by default. Without, a client that is never closed holds none."""
    models: Sequence[str]
    """What `/v1/models` lists."""
    sleep: Callable[[float], Awaitable[object]]
    """What the waits of deliveries go through; by default `asyncio.sleep`."""


class LocalProvider:
    """A provider, and what was sent to it.

    `url` begins with http:// and has no path. `requests` are the requests so far, refused ones included, in the order in which
    they arrived. `script` holds the steps that the next requests get, in order: change it at any time. When it is empty, `rule`
    gives the reply. A request that is refused takes no step. `threads` and `stored` are what the provider holds for later
    requests; both have a `forget`.
    """

    def __init__(self, **options: Unpack[ProviderOptions]) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.script: list[Step] = list(options.get("script", ()))
        self.rule: Rule = options.get("rule", echoes)
        self.models = tuple(options.get("models", MODELS))
        self._keep_alive = options.get("keep_alive", True)
        self._sleep = options.get("sleep", asyncio.sleep)
        strict, binding = options.get("strict", True), options.get("binding")
        self._ids, self.threads = Ids(), Threads()
        self.stored = StoredResponses(self._ids)
        chat = ChatCompletions(self._ids, PromptCache(), strict=strict)
        gemini = Gemini(self._ids, PromptCache(), strict=strict)
        self._messages = Messages(self._ids, PromptCache(), self.threads, strict=strict, binding=binding)
        self._responses = Responses(self._ids, PromptCache(), self.stored, strict=strict, binding=binding)
        self._protocols: dict[str, tuple[Protocol, Speaks]] = {
            "/chat/completions": ("chat", chat),
            "/responses": ("responses", self._responses),
            "/messages": ("messages", self._messages),
            ":generateContent": ("gemini", gemini),
            ":streamGenerateContent": ("gemini", gemini),
        }

    @property
    def refused(self) -> list[str]:
        """The reasons for which requests were refused, in order."""
        return [reason for received in self.requests for reason in received.refusals]

    @property
    def bodies(self) -> list[Body]:
        """The parsed bodies of the requests to the protocols that weren't refused."""
        return [one.json() for one in self.requests if one.protocol != "other" and not one.refusals and one.body]

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalProvider]:
        """Listens on a free port of the loopback address until the block ends; requests that hang end with it."""
        server = web.Server(self._handle, auto_decompress=False, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        received = Received(
            method=request.method,
            target=request.raw_path,
            version=f"HTTP/{request.version.major}.{request.version.minor}",
            headers=tuple(request.raw_headers),
            body=await request.content.read(),
        )
        ending = next((one for one in self._protocols if received.path.endswith(one)), "")
        socket = ending == "/responses" and (received.header("upgrade") or "").lower() == "websocket"
        if ending and (received.method == "POST" or socket):
            received.protocol = self._protocols[ending][0]
        self.requests.append(received)
        try:
            return await (self._connected(request, received) if socket else self._answered(request, received, ending))
        finally:
            received.ended.set()

    async def _answered(self, request: web.BaseRequest, received: Received, ending: str) -> web.StreamResponse:
        outgoing = self._outgoing(request, received, Delivery())
        try:
            if received.protocol != "other":
                return await self._said(request, received, self._protocols[ending][1])
            await self._other(outgoing, received)
        except Refused as refused:
            received.refusals += refused.reasons
            speaks = self._protocols[ending][1] if ending else self._speaker(received.path)
            body = speaks.error(refused.status, refused.message, refused.code, refused.details)
            await outgoing.whole(refused.status, [*_JSON, *speaks.headers()], json_bytes(body))
        return outgoing.response or web.Response()

    async def _said(self, request: web.BaseRequest, received: Received, speaks: Speaks) -> web.StreamResponse:
        """Answers a request of a protocol. Raises `Refused`."""
        try:
            asked = speaks.read(received, _parsed(received))
            chosen = self._chosen(asked)
            reply = Reply(chosen) if isinstance(chosen, str) else chosen
            answer = speaks.answer(asked, reply) if isinstance(reply, Reply) else None
        except RecursionError:
            raise Refused(400, ("the body is nested too deeply",)) from None
        outgoing = self._outgoing(request, received, reply.delivery if isinstance(reply, Reply) else Delivery())
        match reply:
            case Failure():
                body = reply.body
                if body is None:
                    body = json_bytes(speaks.error(reply.status, reply.message, reply.code))
                await outgoing.whole(reply.status, [*_JSON, *speaks.headers(), *reply.headers], body)
            case Verbatim():
                body = reply.body.encode() if isinstance(reply.body, str) else reply.body
                await outgoing.whole(reply.status, reply.headers, body)
            case NoAnswer():
                if not reply.closes:
                    await outgoing.hang()
                outgoing.drop()
            case Reply() if answer is not None:
                await self._delivered(outgoing, asked, reply, answer, speaks)
        return outgoing.response or web.Response()

    async def _delivered(self, outgoing: Outgoing, asked: Asked, reply: Reply, answer: Answer, speaks: Speaks) -> None:
        def error(failure: Failure) -> Event:
            return speaks.error_event(failure.status, failure.message, failure.code)

        headers = [*speaks.headers(), *reply.headers]
        complete = False
        try:
            if asked.streams:
                events = disturbed(answer.events, reply.delivery, speaks.unknown_event(), error)
                complete = await outgoing.stream(headers, events) and reply.delivery.error is None
            else:
                complete = await outgoing.whole(200, [*_JSON, *headers], json_bytes({**answer.whole, **reply.changes}))
        finally:
            answer.finish(complete)

    async def _connected(self, request: web.BaseRequest, received: Received) -> web.StreamResponse:
        socket = web.WebSocketResponse(max_msg_size=0)
        await socket.prepare(request)
        received.status = socket.status
        outgoing = self._outgoing(request, received, Delivery())
        await ResponsesSocket(
            socket,
            outgoing.drop,
            received,
            self._responses,
            self.stored,
            self._ids,
            self._chosen,
            self._sleep,
        ).run()
        return socket

    async def _other(self, outgoing: Outgoing, received: Received) -> None:
        """Answers what isn't a request for a reply: tokens, stored responses, models, and the echo. Raises `Refused`."""
        parts = received.path.strip("/").split("/")
        query = parse_qs(received.target.partition("?")[2])
        if received.method == "POST" and parts[-2:] == ["messages", "count_tokens"]:
            body = self._messages.count(received, _parsed(received))
        elif received.method == "GET" and "models" in parts[-2:]:
            body = self._models(parts[parts.index("models") + 1 :])
        else:
            first = next((index for index, part in enumerate(parts) if part in ("responses", "conversations")), len(parts))
            if received.method == "GET" and len(parts) == first + 2 and query.get("stream") == ["true"]:
                stored = self.stored.response(parts[-1])
                given = query.get("starting_after", ["-1"])[0]
                after = int(given) if given.isdecimal() else -1
                await outgoing.stream((), (event for event in stored.events if event[1]["sequence_number"] > after))
                return
            sent = mapping(_parsed(received)) if received.method == "POST" and received.body and first < len(parts) else {}
            found = self.stored.route(received.method, parts[first:], sent)
            body = _echo(received) if found is None else found
        await outgoing.whole(200, _JSON, b"" if received.method == "HEAD" else json_bytes(body))

    def _models(self, named: Sequence[str]) -> Body:
        """The list, or one model, in the shapes of OpenAI and Anthropic at once."""
        data: list[Body] = [
            {"id": id, "object": "model", "created": 1_700_000_000, "owned_by": "local", "type": "model"}
            | {"display_name": id, "created_at": "2026-01-01T00:00:00Z"}
            for id in self.models
        ]
        if not named:
            return {"object": "list", "data": data, "has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
        found = next((model for model in data if model["id"] == "/".join(named)), None)
        if found is None:
            raise Refused(404, (f"The model '{'/'.join(named)}' does not exist",), "model_not_found")
        return found

    def _chosen(self, asked: Asked) -> Chosen:
        step: Step = self.script.pop(0) if self.script else self.rule
        return step(asked) if callable(step) else step

    def _speaker(self, path: str) -> Speaks:
        return self._messages if "/messages" in path else self._responses

    def _outgoing(self, request: web.BaseRequest, received: Received, delivery: Delivery) -> Outgoing:
        return Outgoing(request, received, delivery, self._sleep, self._keep_alive)


_JSON = (("Content-Type", "application/json"),)


def _parsed(received: Received) -> Body:
    """Raises `Refused`."""
    try:
        body = received.json()
    except ValueError:
        raise Refused(400, ("the body isn't valid JSON",)) from None
    if not isinstance(body, dict):
        raise Refused(400, ("the body must be a JSON object",))
    return body


def _echo(received: Received) -> Body:
    headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in received.headers]
    told = {"method": received.method, "target": received.target, "headers": headers, "length": len(received.body)}
    return {**told, "sha256": sha256(received.body).hexdigest()}


@asynccontextmanager
async def local_provider(**options: Unpack[ProviderOptions]) -> AsyncIterator[LocalProvider]:
    """Serves in the running loop until the block ends."""
    async with LocalProvider(**options).serving() as provider:
        yield provider


@contextmanager
def provider_in_thread(**options: Unpack[ProviderOptions]) -> Iterator[LocalProvider]:
    """Serves in a thread of its own until the block ends, for blocking code."""
    started: Future[tuple[LocalProvider, Callable[[], object]]] = Future()

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        async with local_provider(**options) as provider:
            started.set_result((provider, lambda: loop.call_soon_threadsafe(stop.set)))
            await stop.wait()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="local provider", daemon=True)
    thread.start()
    provider, stop = started.result()
    try:
        yield provider
    finally:
        stop()
        thread.join()
