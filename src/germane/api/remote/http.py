"""HTTP: a `Germane` in another process over HTTP: what `Germane.connect` returns.

    async with Germane.connect("https://memory.example.com", key=key, org="acme") as germane:
        agent = germane.agent("support", user="ana")
        await agent.record(messages, session="s1")
        answer = await agent.assemble(messages, model="gpt-4o")

The methods have the library's names, arguments and values, and raise its errors. `assemble` answers in time whatever happens.
Loads neither the engine, a store, numpy nor gRPC.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from germane.api.remote.answer import Answer, ClientMetadata
from germane.api.remote.fallback import Fallback, FallbackPolicy, model_provider, own_messages
from germane.api.remote.handles import OF_ORG, ClientVerbs
from germane.api.remote.http_connection import HttpConnection, Refusal
from germane.api.remote.operation_call import ClientScope, OperationCall, Pem, ScopedClient, arguments_to_json
from germane.errors import GermaneError, InvalidInput, StoreUnavailable
from germane.types.budget import Effort
from germane.types.checks import check_answer_time, check_type
from germane.types.codec import decode
from germane.types.inventory import AgentPage
from germane.types.message import system_text
from germane.types.nested_data import dump
from germane.types.operation import operation_path
from germane.types.query import Filters

_ON_THE_WAY = 0.004
"""Seconds of an assembly that the service isn't given, at most a tenth of them: the answer travels, and is read."""
_LEAST = 0.001
_UNASSEMBLED = 3
"""The degradation level of messages without any context."""
_LOOKED_AHEAD = 3
"""How many of the caller's messages are compared with one of an answer."""


class RemoteAgent(ScopedClient, ClientVerbs):
    """The agent of a service, within one scope. `germane.agent(…)` returns it."""

    def __init__(self, connection: HttpConnection, policy: FallbackPolicy, scope: ClientScope) -> None:
        self._connection, self._policy, self.scope = connection, policy, scope

    def __repr__(self) -> str:
        return f"<RemoteAgent {'/'.join(filter(None, (self.scope.org, self.scope.agent, self.scope.user)))}>"

    @property
    def _client(self) -> Self:
        return self

    async def call(self, one: OperationCall) -> Any:
        path = operation_path(one.name, quote(self.scope.agent, safe=""), of_org=one.name in OF_ORG)
        with self._raising():
            reply = await self._connection.post(path, self._query, one.arguments, self._policy.patience)
        return one.read(reply.body)

    async def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions. A text replaces them first; an empty one removes them."""
        if text is None:
            return await super().directive()
        return await self.set_directive(text)

    async def assemble(
        self,
        messages: Sequence[Any],
        *,
        model: str,
        provider: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = None,
        max_tokens: int | None = None,
        strategy: str = "default",
        filters: Filters | Mapping[str, Any] | None = None,
        effort: Effort | float | None = None,
        window: int | None = None,
        like: str | None = None,
        system: Any = None,
        blocks: Sequence[str] = (),
        task: str | bool | None = None,
    ) -> Answer:
        """Returns the messages together with what the model needs to know, within `deadline` seconds (default: the `limit` of
        `Germane.connect`).

        The arguments are those of `germane.Agent.assemble`. Raises `InvalidInput` for arguments that can't be used, and
        nothing else: where something goes wrong, the answer holds the messages as they were given,
        `metadata.fallback_reason` names the failure, and the logger `germane.client` warns once.
        """
        check_type("messages", messages, list, "a list such as [{'role': 'user', 'content': '…'}]")
        if deadline is not None:
            check_answer_time("deadline", deadline)
        given = {
            "messages": messages,
            "model": model,
            "provider": provider,
            "tools": tools,
            "query": query,
            "session": session,
            "at": at,
            "max_tokens": max_tokens,
            "strategy": strategy,
            "filters": filters,
            "effort": effort,
            "window": window,
            "like": like,
            "system": system,
            "blocks": blocks or None,
            "task": task,
        }
        try:
            with self._policy.attempt(self._connection.now):
                return await self.assembled(given, self._policy.limit if deadline is None else deadline)
        except InvalidInput:
            raise
        except Exception as error:
            if isinstance(error, Refusal) and isinstance(error.error, InvalidInput):
                raise error.error from None
            own, beside = own_messages(messages, system, provider or model_provider(model, like))
            return self._policy.fallback(own, error, "", beside)

    async def assembled(self, given: Mapping[str, Any], seconds: float, *, patience: float | None = None) -> Answer:
        """Assembles within `seconds`; `given` are the other arguments of `assemble`, None for those that are left out. With
        `patience` the answer is waited for so long, although the service is given `seconds`. Raises `InvalidInput` for a value
        that can't be sent, `Fallback` where the service doesn't answer with a context."""
        now = self._connection.now
        due = now() + seconds
        body = arguments_to_json({name: value for name, value in given.items() if value is not None})
        if (remaining := due - now()) <= 0:
            raise Fallback("client_error:out_of_time")
        deadline = max(_LEAST, remaining - min(_ON_THE_WAY, remaining / 10))
        query = {**self._query, "deadline": f"{deadline:.6f}"}
        path = operation_path("assemble", quote(self.scope.agent, safe=""))
        reply = await self._connection.post(path, query, body, patience or remaining)
        try:
            found = decode(_Assembled, json.loads(reply.body), "assemble", lenient=True)
        except (ValueError, RecursionError):  # an `InvalidInput` would say that the caller's arguments are wrong
            raise Fallback("http_error:UNREADABLE") from None
        messages, system = _own_objects(given["messages"], found.messages), found.system
        if (given.get("provider") or model_provider(given["model"], given.get("like"))) == "openai":
            # a service that had no time to assemble gives both back as they came
            own = given.get("system") if found.metadata.degradation_level == _UNASSEMBLED else None
            messages, system = own_messages(messages, None if _among(own, messages) else own, "openai")
        metadata = replace(found.metadata, request_id=reply.headers.get("x-request-id", ""))
        return Answer(messages=messages, system=system, metadata=metadata)

    async def export(self) -> AsyncIterator[dict[str, Any]]:
        """Yields all that this scope can see, one dict at a time, as `germane.Agent.export` does. Raises germane's errors,
        `StoreUnavailable` where the stream ends before its end."""
        path = operation_path("export", quote(self.scope.agent, safe=""))
        with self._raising():
            async with aclosing(self._connection.lines(path, self._query, self._policy.patience)) as lines:
                async for line in lines:
                    try:
                        read = json.loads(line)
                    except (ValueError, RecursionError):
                        raise GermaneError("a line of the export can't be read") from None
                    yield read

    def _raising(self) -> AbstractContextManager[None]:
        """Raises germane's errors in the place of `Fallback`."""
        return self._connection.raising()

    @property
    def _query(self) -> dict[str, str]:
        scope = self.scope
        org = None if scope.org == ClientScope().org else scope.org  # the default is the key's org
        found = {"org": org, "user": scope.user, "zone": None if scope.zone == "UTC" else scope.zone}
        return {name: value for name, value in found.items() if value is not None}


class RemoteGermane:
    """A `Germane` of a service, open within `async with`. One per process is enough: all agents share its connections.
    `Germane.connect` says what the arguments are."""

    _connects: type[HttpConnection] = HttpConnection

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        org: str = "default",
        limit: float = 0.045,
        patience: float = 10.0,
        breaker: int = 5,
        cooldown: float = 1.0,
        plaintext: bool = False,
        roots: Pem | None = None,
        certificate: Pem | None = None,
        certificate_key: Pem | None = None,
    ) -> None:
        self._scope = ClientScope(org=org)
        self._policy = FallbackPolicy(limit=limit, patience=patience, breaker=breaker, cooldown=cooldown)
        self._connection = self._connects(
            url, key=key, plaintext=plaintext, roots=roots, certificate=certificate, certificate_key=certificate_key
        )

    def __repr__(self) -> str:
        return f"<RemoteGermane {self._connection.url}{' key' if self._connection.key else ''}>"

    async def __aenter__(self) -> Self:
        """Connects at the first call."""
        self._connection.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. Later calls of `assemble` return the caller's own messages, others raise `StoreUnavailable`.
        Idempotent."""
        await self._connection.close()

    def agent(
        self, agent: str = "default", *, org: str | None = None, user: str | None = None, zone: str = "UTC"
    ) -> RemoteAgent:
        """Returns the handle on an agent, for one user if given. `org` is by default that of `Germane.connect`. `zone` is the
        user's time zone. Costs next to nothing. Raises `InvalidInput`."""
        scope = self._scope.within(org=org, agent=agent, user=user, zone=zone)
        return RemoteAgent(self._connection, self._policy, scope)

    async def agents(self, org: str | None = None, *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        """Returns a page of `limit` (1 to 1,000) of the org's agents with what each has stored. Raises `InvalidInput`, and
        `GermaneError` where the key doesn't allow all agents of the org."""
        return await self.agent(org=org).agents(limit=limit, cursor=cursor)

    async def ping(self) -> None:
        """Returns where a service of germane's answers; asks neither for the key nor the store. Raises `StoreUnavailable`."""
        with self._connection.raising():
            reply = await self._connection.get("/health", self._policy.patience)
        try:
            alive = json.loads(reply.body).get("status") == "alive"
        except (ValueError, AttributeError):
            alive = False
        if not alive:
            raise StoreUnavailable("what answers there is another service than germane's: correct the address")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assembled:
    """What is read of the answer, which `kinds.remote_values.Assembled` describes."""

    messages: list[dict[str, Any]]
    system: Any = None
    metadata: ClientMetadata


def _own_objects(sent: Sequence[Any], found: Sequence[dict[str, Any]]) -> list[Any]:
    """Returns the messages that were `found`, with the caller's own object in the place of each that wasn't changed. Between
    them others may have been added, and some may have been changed."""
    position, messages = 0, list[Any]()
    for message in found:
        ahead = range(position, min(position + _LOOKED_AHEAD, len(sent)))
        same = next((index for index in ahead if _plain(sent[index]) == message), None)
        messages.append(message if same is None else sent[same])
        position = position if same is None else same + 1
    return messages


def _among(system: Any, messages: Sequence[Any]) -> bool:
    """Whether one of the messages is the caller's own system prompt."""
    return any(isinstance(one, Mapping) and one.get("content") == system_text(system) for one in messages)


def _plain(message: Any) -> Any:
    return message if isinstance(message, Mapping) else dump(message)
