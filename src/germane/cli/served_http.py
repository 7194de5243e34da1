"""Served over HTTP: the client of a command for a server over HTTP, whose errors say what the user can do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Any

from germane.api.remote.fallback import Fallback, FallbackPolicy, model_provider
from germane.api.remote.http import RemoteAgent
from germane.api.remote.http_connection import HttpConnection, Refusal
from germane.api.remote.operation_call import ClientScope
from germane.cli.served_values import KEY_VARIABLE, PATIENCE, CommandClient, ServedContext, context_of
from germane.errors import GermaneError, InvalidInput, StoreUnavailable


@asynccontextmanager
async def http_client(address: str, key: str | None, scope: Mapping[str, Any]) -> AsyncIterator[_CommandAgent]:
    """Yields the client. Raises `InvalidInput`, and `MissingExtra` without aiohttp."""
    try:
        connection = HttpConnection(address, key=key)
    except InvalidInput as error:
        if error.path != "url":
            raise
        raise InvalidInput(f"--server {error.problem}", *error.shown, advice=error.advice.partition(", or ")[0]) from None
    connection.open()
    try:
        policy = FallbackPolicy(limit=PATIENCE, patience=PATIENCE, breaker=0, cooldown=0.0)
        yield _CommandAgent(connection, policy, ClientScope(**scope))
    finally:
        await connection.close()


class _CommandAgent(RemoteAgent, CommandClient):
    async def warm(self) -> None:
        """A service warms what it searches by itself."""

    async def context(self, messages: list[Any], deadline: float | None, asked: Mapping[str, Any]) -> ServedContext:
        """There is no trace in the answer."""
        given = {"messages": messages, **asked}
        with self._raising():
            answer = await self.assembled(given, PATIENCE if deadline is None else deadline, patience=PATIENCE)
        return context_of(answer, asked, provider=asked.get("provider") or model_provider(asked["model"], asked.get("like")))

    @contextmanager
    def _raising(self) -> Iterator[None]:
        try:
            yield
        except Fallback as error:
            raise self._told(error) from None

    def _told(self, error: Fallback) -> GermaneError:
        url, what = self._connection.url, str(error).partition(":")[2]
        if isinstance(error, Refusal):
            match error.status:
                case HTTPStatus.UNAUTHORIZED:
                    given = "doesn't take the API key" if self._connection.key else "needs an API key"
                    advice = f"set {KEY_VARIABLE} or give --key-file; germane keys create makes one where the store is"
                    return StoreUnavailable(f"the server at {url} {given} ({advice})")
                case HTTPStatus.FORBIDDEN if type(error.error) is GermaneError:
                    whose = f"org {self.scope.org} and agent {self.scope.agent}"
                    advice = "germane keys list, where the store is, shows what each key allows"
                    return StoreUnavailable(f"the API key doesn't allow this for {whose} ({advice})")
            return error.error
        if what == "DEADLINE_EXCEEDED":
            return StoreUnavailable(f"the server at {url} didn't answer in time (try again)")
        advice = "correct --server, begin germane serve there, or give https:// where it uses TLS"
        return StoreUnavailable(f"no answer from the server at {url} ({advice}): {error.hint or what}")
