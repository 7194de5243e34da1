"""Served over gRPC: the client of a command for a server over gRPC, whose errors say what the user can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from germane.cli.served_values import KEY_VARIABLE, PATIENCE, CommandClient, ServedContext, context_of
from germane.errors import GermaneError, InvalidInput, StoreUnavailable
from germane.grpc.client import Client, rpcs
from germane.grpc.client.channel import grpc, local
from germane.grpc.client.rpcs import ClientRpc

T = TypeVar("T")

_TLS, _PLAIN = ("grpcs",), ("grpc", "")


def grpc_client(address: str, key: str | None, scope: Mapping[str, Any]) -> _CommandClient:
    """Returns the client. Raises `InvalidInput`."""
    target, tls = server_address(address)
    if key is not None and not tls and not local(target):
        raise InvalidInput(f"the key could be read on its way to {target}, which isn't this machine: give grpcs://{target}")
    return _CommandClient(target, key=key, tls=tls, patience=PATIENCE, limit=PATIENCE, **scope)


def server_address(given: str) -> tuple[str, bool]:
    """Returns host and port, and whether TLS is used, of `HOST:PORT`, `grpc://HOST:PORT` or `grpcs://HOST:PORT`. Raises
    `InvalidInput`."""
    before, scheme, after = given.strip().partition("://")
    kind, target = (before.lower(), after.rstrip("/")) if scheme else ("", before)
    if kind not in (*_TLS, *_PLAIN) or not target or "/" in target:
        raise InvalidInput(
            f"--server must be HOST:PORT, grpcs://HOST:PORT for TLS, or http(s)://HOST:PORT, not {given[:200]!r}"
        )
    return target, kind in _TLS


class _CommandClient(Client, CommandClient):
    """The client, whose errors say what the user of a command can do."""

    async def run(self, rpc: ClientRpc[T]) -> T:
        return await super().run(replace(rpc, error=lambda error: self._told(error, rpc.error(error))))

    def _told(self, error: grpc.RpcError, usual: GermaneError) -> GermaneError:
        target, details = self._connection.address.target, error.details() or error.code().name
        match error.code():
            case grpc.StatusCode.UNAUTHENTICATED:
                given = "doesn't take the API key" if self._connection.address.key else "needs an API key"
                advice = f"set {KEY_VARIABLE} or give --key-file; germane keys create makes one where the store is"
                return StoreUnavailable(f"the server at {target} {given} ({advice})")
            case grpc.StatusCode.PERMISSION_DENIED if type(usual) is GermaneError:
                whose = f"org {self.scope.org} and agent {self.scope.agent}"
                advice = "germane keys list, where the store is, shows what each key allows"
                return StoreUnavailable(f"the API key doesn't allow this for {whose} ({advice})")
            case grpc.StatusCode.UNIMPLEMENTED:
                return StoreUnavailable(f"what answers at {target} can't do this: it is another service, or another germane")
            case grpc.StatusCode.UNAVAILABLE:
                advice = "correct --server, begin germane serve there, or give grpcs:// where it uses TLS"
                return StoreUnavailable(f"no answer from the server at {target} ({advice}): {details}")
            case grpc.StatusCode.DEADLINE_EXCEEDED:
                return StoreUnavailable(f"the server at {target} didn't answer in time (try again)")
        return usual

    async def context(self, messages: list[Any], deadline: float | None, asked: Mapping[str, Any]) -> ServedContext:
        """The text of the trace comes with the messages."""
        rpc = rpcs.assemble(self.scope, messages, deadline=deadline, explain=True, **asked)
        return context_of(await self.run(rpc), asked, provider=rpc.request.options.provider)
