"""Anthropic SDK: memory in front of each call of `messages`, as a middleware of the client.

    client = Anthropic(middleware=[memory(agent, session="monday")])
    client = AsyncAnthropic(middleware=[memory(agent, session="monday")])

What is known goes into the request, and the turn is recorded when its answer was read. The middleware runs within the SDK's
retries: each attempt carries the same texts, and only an answer is recorded. Counting tokens, batches and all else go as they
came, and so does any request where something is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack, overload

from germane import sync
from germane.api.agent import Agent
from germane.dialects.model_calls import BETAS, ChangedBody
from germane.errors import MissingExtra

try:
    from anthropic import APIRequest, APIResponse, AsyncAPIResponse, AsyncCallNext, CallNext, Middleware

    from germane.integrations.sdk_memory import OWN_HEADERS, AsyncMemory, BlockingMemory, Terms
except ImportError as error:
    raise MissingExtra("anthropic", "anthropic") from error


class MemoryMiddleware(Middleware):
    """For `AsyncAnthropic` and an agent of `germane.Germane`. The SDK refuses it for `Anthropic`."""

    def __init__(self, agent: Agent, **terms: Unpack[Terms]) -> None:
        self._memory = AsyncMemory(agent, **terms)

    async def handle_async(self, request: APIRequest, call_next: AsyncCallNext) -> AsyncAPIResponse[Any]:
        call = self._memory.read(request.url, _headers(request), _body(request))
        sent = None if call is None else await self._memory.body(call)
        response = await call_next(_with(request, sent))
        if call is not None:
            self._memory.watch(call, response.http_response)
        return response

    async def flush(self, timeout: float = 5.0) -> bool:
        """Waits until the turns so far are recorded, for at most `timeout` seconds. Returns whether they are."""
        return await self._memory.flush(timeout)


class BlockingMemoryMiddleware(Middleware):
    """For `Anthropic` and an agent of `germane.sync`. The SDK refuses it for `AsyncAnthropic`."""

    def __init__(self, agent: sync.Agent, **terms: Unpack[Terms]) -> None:
        self._memory = BlockingMemory(agent, **terms)

    def handle(self, request: APIRequest, call_next: CallNext) -> APIResponse[Any]:
        call = self._memory.read(request.url, _headers(request), _body(request))
        response = call_next(_with(request, None if call is None else self._memory.body(call)))
        if call is not None:
            self._memory.watch(call, response.http_response)
        return response

    def flush(self, timeout: float = 5.0) -> bool:
        """As that of `MemoryMiddleware`. A process that ends by itself does so too."""
        return self._memory.flush(timeout)


@overload
def memory(agent: Agent, **terms: Unpack[Terms]) -> MemoryMiddleware: ...


@overload
def memory(agent: sync.Agent, **terms: Unpack[Terms]) -> BlockingMemoryMiddleware: ...


def memory(agent: Agent | sync.Agent, **terms: Unpack[Terms]) -> MemoryMiddleware | BlockingMemoryMiddleware:
    """Returns the middleware for `AsyncAnthropic`, or for `Anthropic` with an agent of `germane.sync`.

    `session` is that of calls that name none. A call names its own with `extra_headers={"X-Germane-Session": …}` (an empty one:
    remember nothing), and its user with `X-Germane-User`; the provider doesn't see these. The other arguments are those of
    `assemble`. Raises `InvalidInput`."""
    return BlockingMemoryMiddleware(agent, **terms) if isinstance(agent, sync.Agent) else MemoryMiddleware(agent, **terms)


def _headers(request: APIRequest) -> dict[str, str]:
    return {name.lower(): value for name, value in request.headers.items() if isinstance(value, str)}


def _body(request: APIRequest) -> Mapping[str, Any]:
    return request.json if request.method.lower() == "post" and isinstance(request.json, Mapping) else {}


def _with(request: APIRequest, body: ChangedBody | None) -> APIRequest:
    """The request with this body, if any, and without germane's own headers. The same object where nothing changes."""
    headers = {name: value for name, value in request.headers.items() if name.lower() not in OWN_HEADERS}
    if body is None:
        return request if len(headers) == len(request.headers) else request.copy(headers=headers)
    if body.betas:
        headers = {name: value for name, value in headers.items() if name.lower() != BETAS}
        headers[BETAS] = body.beta_header(_headers(request).get(BETAS, ""))
    return request.copy(body=body.fields, headers=headers)
