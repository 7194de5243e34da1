"""OpenAI SDK: memory in front of each call of chat completions and responses, as a transport of the HTTP client.

    client = OpenAI(http_client=DefaultHttpxClient(transport=memory(agent, session="monday")))
    client = AsyncOpenAI(http_client=DefaultAsyncHttpxClient(transport=memory(agent, session="monday")))

What is known goes into the request, and the turn is recorded when its answer was read. The transport is below the SDK's
retries: each attempt carries the same texts, and only an answer is recorded. Other requests pass as they came, and so does any
request where something is wrong; a WebSocket has no transport and isn't seen.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

from germane import sync
from germane.api.agent import Agent
from germane.dialects.model_calls import ChangedBody
from germane.errors import MissingExtra
from germane.text.json_splice import Unspliceable

try:
    import httpx2

    from germane.integrations.sdk_memory import OWN_HEADERS, AsyncMemory, BlockingMemory, Terms
except ImportError as error:
    raise MissingExtra("openai-sdk", "openai") from error

_LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
"""Those of OpenAI's own client."""
_OF_BODY = ("content-length", "transfer-encoding")


class MemoryTransport(httpx2.AsyncBaseTransport):
    """For `AsyncOpenAI` and an agent of `germane.Germane`."""

    def __init__(self, agent: Agent, transport: httpx2.AsyncBaseTransport | None = None, **terms: Unpack[Terms]) -> None:
        self._memory = AsyncMemory(agent, **terms)
        self._transport = httpx2.AsyncHTTPTransport(limits=_LIMITS) if transport is None else transport

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = self._memory.read(request.url.path, request.headers, await request.aread()) if _has_json(request) else None
        sent = None if call is None else await self._memory.body(call)
        response = await self._transport.handle_async_request(_with(request, sent))
        if call is not None:
            self._memory.watch(call, response)
        return response

    async def flush(self, timeout: float = 5.0) -> bool:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are."""
        return await self._memory.flush(timeout)

    async def aclose(self) -> None:
        await self.flush()
        await self._transport.aclose()


class BlockingMemoryTransport(httpx2.BaseTransport):
    """For `OpenAI` and an agent of `germane.sync`."""

    def __init__(self, agent: sync.Agent, transport: httpx2.BaseTransport | None = None, **terms: Unpack[Terms]) -> None:
        self._memory = BlockingMemory(agent, **terms)
        self._transport = httpx2.HTTPTransport(limits=_LIMITS) if transport is None else transport

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        call = self._memory.read(request.url.path, request.headers, request.read()) if _has_json(request) else None
        response = self._transport.handle_request(_with(request, None if call is None else self._memory.body(call)))
        if call is not None:
            self._memory.watch(call, response)
        return response

    def flush(self, timeout: float = 5.0) -> bool:
        """As that of `MemoryTransport`. Closing the client does so too."""
        return self._memory.flush(timeout)

    def close(self) -> None:
        self.flush()
        self._transport.close()


@overload
def memory(agent: Agent, transport: httpx2.AsyncBaseTransport | None = None, **terms: Unpack[Terms]) -> MemoryTransport: ...


@overload
def memory(
    agent: sync.Agent, transport: httpx2.BaseTransport | None = None, **terms: Unpack[Terms]
) -> BlockingMemoryTransport: ...


def memory(agent: Any, transport: Any = None, **terms: Unpack[Terms]) -> MemoryTransport | BlockingMemoryTransport:
    """Returns the transport for the HTTP client of `AsyncOpenAI`, or of `OpenAI` with an agent of `germane.sync`.

    `session` is that of calls that name none. A call names its own with `extra_headers={"X-Germane-Session": …}` (an empty one:
    remember nothing), and its user with `X-Germane-User`; the provider doesn't see these. `transport` sends the requests, such
    as one for a proxy (default: one with the limits of OpenAI's client). The other arguments are those of `assemble`. Raises
    `InvalidInput`."""
    return (
        BlockingMemoryTransport(agent, transport, **terms)
        if isinstance(agent, sync.Agent)
        else MemoryTransport(agent, transport, **terms)
    )


def _has_json(request: httpx2.Request) -> bool:
    return request.method == "POST" and request.headers.get("content-type", "").startswith("application/json")


def _with(request: httpx2.Request, body: ChangedBody | None) -> httpx2.Request:
    """The request with this body, if any, and without germane's own headers. The same object where nothing changes."""
    written = None if body is None else _written(request, body)
    if written is None and not any(name in request.headers for name in OWN_HEADERS):
        return request
    left_out = OWN_HEADERS if written is None else (*OWN_HEADERS, *_OF_BODY)
    headers = [(name, value) for name, value in request.headers.raw if name.decode("latin-1").lower() not in left_out]
    content = {"stream": request.stream} if written is None else {"content": written}
    return httpx2.Request(request.method, request.url, headers=headers, extensions=request.extensions, **content)


def _written(request: httpx2.Request, body: ChangedBody) -> bytes | None:
    try:
        return body.written(request.content)
    except Unspliceable:
        return None
