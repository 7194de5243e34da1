"""Blocking: the client for callers without asyncio. What it takes, answers and promises is written in `client.py`.

    with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = client.assemble(messages, model="gpt-4o", user="caroline")

Any number of threads may call one client. It waits in the caller's own thread: each hand-over to another one costs a turn of
the interpreter's lock, five milliseconds while anything else computes. So here gRPC keeps the limit, whose clock runs outside
that lock; it is told a little less than the limit for being a little late. After a fork a client that has called stays with
the parent: make one in each process.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
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

_LATE = 0.003
"""Seconds by which gRPC is late with its deadlines: 2.8 ms in the median, measured over loopback."""


def _blocking(verb: Callable[Concatenate[Asker, P], Verb[T]]) -> Callable[Concatenate[Client, P], T]:
    """A verb as a method. Raises germane's errors, `StoreUnavailable` where nothing answers."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._do(verb(self.asker, *args, **kwargs))

    update_wrapper(method, verb)
    return method


class Client:
    """As `germane.grpc.client.Client`, used with `with`."""

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
        self._line: ClientConnection[grpc.Channel] = ClientConnection(address, address.dial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if (channel := self._line.close()) is not None:
            channel.close()

    def warm(self, patience: float = 1.0) -> bool:
        try:
            ready = grpc.channel_ready_future(self._line.channel())
            try:
                ready.result(timeout=patience)
            finally:
                ready.cancel()
        except Exception:
            return False
        return True

    def within(
        self, *, org: str | None = None, agent: str | None = None, user: str | None = None, zone: str | None = None
    ) -> Client:
        other = copy.copy(self)
        other.asker = self.asker.within(org=org, agent=agent, user=user, zone=zone)
        return other

    def assemble(
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
        own: Any = messages
        try:
            own = originals(messages)
            began = time.monotonic()
            with self._care.watching(time.monotonic):
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
                stub = self._line.stub()
                left = self._care.left(began, time.monotonic(), late=_LATE)
                response = stub.AssembleContext(question.request, timeout=left, **self._line.address.options)
            return question.answer(response)
        except Exception as error:
            return self._care.fallback(own, error, request_id)

    record = _blocking(verbs.record)
    remember = _blocking(verbs.remember)
    search = _blocking(verbs.search)
    forget = _blocking(verbs.forget)
    feedback = _blocking(verbs.feedback)
    directive = _blocking(verbs.directive)

    def _do(self, verb: Verb[T]) -> T:
        try:
            call = verb.call(self._line.channel(), timeout=self._care.patience, **self._line.address.options)
            return verb.read(list(call) if verb.streams else call)
        except grpc.RpcError as error:
            raise raised(error) from None
        except Fallback as error:
            raise StoreUnavailable(f"the service can't be asked: {error}") from None
