"""Client: a caller's side of the service, for asyncio. `assemble` answers in time and never raises; the rest may.

    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = await client.assemble(messages, model="gpt-4o", user="caroline")

Whatever goes wrong, the answer holds the caller's own messages and the reason: `grpc_error:<CODE>` for what gRPC says,
`client_error:<what>` for what the client finds out for itself, `client_breaker_open` while a server that hangs is left alone.
Only the cancellation of the caller's own task and the interpreter's exits go through. Nothing is tried twice.

One client is for one event loop and any number of tasks; `germane.grpc.blocking` is the same without `await`. It loads neither
the engine nor a store.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import update_wrapper
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from germane.errors import StoreUnavailable
from germane.grpc.calling import verbs
from germane.grpc.calling.answer import Answer
from germane.grpc.calling.channel import Address, Pem, grpc
from germane.grpc.calling.client_connection import ClientConnection
from germane.grpc.calling.fallback_policy import Fallback, FallbackPolicy, originals
from germane.grpc.calling.question import Asker, ask
from germane.grpc.calling.verbs import Verb, raised

__all__ = ["Client"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(verb: Callable[Concatenate[Asker, P], Verb[T]]) -> Callable[Concatenate[Client, P], Coroutine[Any, Any, T]]:
    """A verb as a method. Raises germane's errors, `StoreUnavailable` where nothing answers."""

    async def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._do(verb(self.asker, *args, **kwargs))

    update_wrapper(method, verb)
    return method


class Client:
    """`target` is the server's address. `org`, `agent` and `user` are whose things are meant where a call doesn't say.

    `limit` is how long the caller of `assemble` waits, in seconds; connecting and writing the request count. `patience` is
    that of everything else. `key` is an API key; `tls` switches encryption on, as `roots`, `certificate` with
    `certificate_key`, or `server_name` do by themselves. Without encryption a key is sent to this machine alone, unless
    `plaintext` allows more: for networks that can be trusted, or that encrypt by themselves. After `breaker` calls in a row
    that hung, the server is left alone for `cooldown` seconds; 0 never.

    Raises `InvalidInput` for an argument that can't be used, and nothing for a server that can't be reached.
    """

    def __init__(
        self,
        target: str,
        *,
        org: str = "default",
        agent: str = "default",
        user: str | None = None,
        zone: str = "UTC",
        key: str | None = None,
        plaintext: bool = False,
        tls: bool = False,
        roots: Pem | None = None,
        certificate: Pem | None = None,
        certificate_key: Pem | None = None,
        server_name: str | None = None,
        limit: float = 0.045,
        patience: float = 10.0,
        breaker: int = 5,
        cooldown: float = 1.0,
    ) -> None:
        address = Address.of(
            target,
            key=key,
            plaintext=plaintext,
            tls=tls,
            roots=roots,
            certificate=certificate,
            certificate_key=certificate_key,
            server_name=server_name,
        )
        self.asker = Asker(org=org, agent=agent, user=user, zone=zone)
        self._care = FallbackPolicy(limit=limit, patience=patience, breaker=breaker, cooldown=cooldown)
        self._line: ClientConnection[grpc.aio.Channel] = ClientConnection(address, address.dial_awaited)
        self._abandoned: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        """Begins to connect, and doesn't wait for it."""
        with suppress(Exception):
            self._line.channel(asyncio.get_running_loop()).get_state(try_to_connect=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Calls under way end with the caller's own messages, as do those made later."""
        if (channel := self._line.close()) is not None:
            await channel.close()

    async def warm(self, patience: float = 1.0) -> bool:
        """Connect, for at most `patience` seconds, so that the first call needn't. Says whether that was done; never raises."""
        try:
            return bool(await self._within(_ready(self._line.channel(asyncio.get_running_loop())), patience))
        except Exception:
            return False

    def within(
        self, *, org: str | None = None, agent: str | None = None, user: str | None = None, zone: str | None = None
    ) -> Client:
        """The same connection for somebody else's things."""
        other = copy.copy(self)
        other.asker = self.asker.within(org=org, agent=agent, user=user, zone=zone)
        return other

    async def assemble(
        self,
        messages: Sequence[Any],
        *,
        model: str,
        session: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        org: str | None = None,
        zone: str | None = None,
        provider: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        at: datetime | None = None,
        max_tokens: int | None = None,
        strategy: str | None = None,
        filters: Any = None,
        request_id: str | None = None,
        explain: bool = False,
    ) -> Answer:
        """The messages with what the model needs to know, within `limit` seconds. As `germane.Agent.assemble`, but that it
        raises nothing: what can't be used is told in `metadata.fallback_reason`, and once in the log `germane.client`.

        `provider` is the shape of the messages, in and out: openai (default), anthropic, gemini. `filters` is a
        `germane.Filters` or a mapping with its names.
        """
        own: Any = messages
        try:
            own = originals(messages)
            loop = asyncio.get_running_loop()
            began = loop.time()
            with self._care.watching(loop.time):
                question = ask(
                    own,
                    asker=self.asker.within(org=org, agent=agent, user=user, zone=zone),
                    model=model,
                    provider=provider,
                    tools=tools,
                    query=query,
                    session=session,
                    at=at,
                    max_tokens=max_tokens,
                    strategy=strategy,
                    filters=filters,
                    request_id=request_id,
                    explain=explain,
                )
                stub = self._line.stub(loop)
                left = self._care.left(began, loop.time())
                call = stub.AssembleContext(question.request, timeout=left, **self._line.address.options)
                response = await self._within(call, left)
            return question.answer(response)
        except Exception as error:
            return self._care.fallback(own, error, request_id)

    record = _awaited(verbs.record)
    remember = _awaited(verbs.remember)
    search = _awaited(verbs.search)
    forget = _awaited(verbs.forget)
    feedback = _awaited(verbs.feedback)
    directive = _awaited(verbs.directive)

    async def _do(self, verb: Verb[T]) -> T:
        try:
            channel = self._line.channel(asyncio.get_running_loop())
            call = verb.call(channel, timeout=self._care.patience, **self._line.address.options)
            return verb.read(await self._within(_all(call) if verb.streams else call, self._care.patience))
        except grpc.RpcError as error:
            raise raised(error) from None
        except Fallback as error:
            raise StoreUnavailable(f"the service can't be asked: {error}") from None

    async def _within(self, call: Awaitable[Any], seconds: float) -> Any:
        """What `call` answers. When time is up it is cancelled and never waited for: gRPC has the same limit, and isn't
        trusted to keep it."""
        task = asyncio.ensure_future(_outcome(call))
        task.add_done_callback(_looked_at)
        try:
            await asyncio.wait([task], timeout=seconds)
        finally:
            if not task.done():
                task.cancel()  # which cancels the call
                self._abandoned.add(task)
                task.add_done_callback(self._abandoned.discard)
        if not task.done():
            raise Fallback("grpc_error:DEADLINE_EXCEEDED")
        if task.cancelled():  # by gRPC, when the channel is closed: nobody cancelled the caller
            raise Fallback("grpc_error:CANCELLED")
        return task.result()


async def _outcome(call: Awaitable[T]) -> T:
    if (answer := await call) is None:  # gRPC's way of saying that it couldn't read it
        raise Fallback("grpc_error:INTERNAL")
    return answer


async def _ready(channel: grpc.aio.Channel) -> bool:
    await channel.channel_ready()
    return True


async def _all(call: AsyncIterable[T]) -> list[T]:
    return [one async for one in call]


def _looked_at(task: asyncio.Task[Any]) -> None:
    """What an abandoned call raises is for no log."""
    if not task.cancelled():
        task.exception()
