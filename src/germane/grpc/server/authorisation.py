"""Authorisation: verifies the API key of a call, and returns the agent that the key allows.

Every invalid key gets the same error (RPC-5).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import grpc

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.grpc.messages import memory_pb2
from germane.grpc.server.call import RpcCall
from germane.grpc.server.refusals import Refused, invalid
from germane.kinds.keys.value import Grant, Right
from germane.types.scope import Scope

_READ_PATIENCE = 0.02
"""Seconds that a read waits for the store to verify a key, before the cached answer has to do."""


class Keys(Protocol):
    """The part of `germane.keys` that the port uses."""

    async def verify(self, token: str, *, patience: float | None = ...) -> Grant | None:
        """Returns what the key allows, None for an invalid key. Raises `StoreUnavailable` where that can't be determined."""


def presented_key(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """Returns the key in `authorization: Bearer <key>` or `x-api-key: <key>`, None where there is none."""
    headers: dict[str, str] = {}
    for name, value in metadata or ():
        if name in ("authorization", "x-api-key") and isinstance(value, str):
            headers.setdefault(name, value)
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    return headers.get("x-api-key", "").strip() or None


async def authenticate(keys: Keys, token: str, right: Right) -> Grant:
    """Returns what the key allows. Raises `Refused` for an invalid key, `StoreUnavailable` where it can't be verified.

    For a call that writes, the store must verify the key; for a read a cached answer will do.
    """
    grant = await keys.verify(token, patience=None if right == "write" else _READ_PATIENCE)
    if grant is None:
        raise unauthenticated()
    return grant


def unauthenticated() -> Refused:
    """The error for a missing key and for an invalid one."""
    return Refused(
        grpc.StatusCode.UNAUTHENTICATED,
        "an API key is needed that holds: send  authorization: Bearer gk_…  (germane keys create makes one)",
    )


def denied() -> Refused:
    """The error for a right, org or agent that the key doesn't allow, whether it exists or not (SCOPE-3)."""
    return Refused(grpc.StatusCode.PERMISSION_DENIED, "the API key doesn't open this")


class AgentResolver:
    """The only way from an RPC to the API. `where` is the prefix of field names in error texts."""

    def __init__(self, germane: Germane) -> None:
        self.germane = germane

    def scoped(self, scope: memory_pb2.Scope, call: RpcCall) -> Agent:
        """Checks a request's scope and returns its agent's handle. Raises `Refused` and `InvalidInput`."""
        whose = {"org": scope.org_id, "agent": scope.agent_id, "user": scope.user_id, "zone": scope.zone}
        return self.handle(call, **whose, where="scope.")

    def handle(self, call: RpcCall, *, agent: str, org: str = "", user: str = "", zone: str = "", where: str = "") -> Agent:
        """As `scoped`, by the names of a scope; the org is the key's by default."""
        return self.agent(self.authorise(call, org=org, agent=agent, where=where), agent, user=user, zone=zone)

    def agent(self, org: str, agent: str, *, user: str = "", zone: str = "") -> Agent:
        """Returns the handle on an agent, for an org that `authorise` returned. Raises `InvalidInput`."""
        return self.germane.agent(agent, org=org, user=user or None, zone=zone or "UTC")

    def authorise(self, call: RpcCall, *, org: str, agent: str, where: str = "") -> str:
        """Returns the org, which defaults to the key's, and names org and agent in the call's record.

        Raises `Refused` for a missing name and for a key that doesn't allow them, `InvalidInput` for an invalid name, so that
        no such name is recorded.
        """
        org = org or ("" if call.grant is None else call.grant.org)
        if not org:
            raise invalid(f"{where}org_id is missing: say whose things these are")
        if not agent:
            raise invalid(f"{where}agent_id is missing: say which agent it is")
        Scope(org=org, agent=agent)
        if call.grant is not None and not call.grant.allows(call.right, org=org, agent=agent):
            raise denied()
        call.record.org, call.record.agent = org, agent
        return org
