"""Agent resolver: checks that a caller's key allows a request's org and agent, and returns the agent."""

from __future__ import annotations

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.grpc.authentication import denied
from germane.grpc.call import RpcCall
from germane.grpc.refusals import invalid
from germane.grpc.stubs import memory_pb2
from germane.types.inventory import AgentPage
from germane.types.scope import Scope

__all__ = ["AgentResolver"]


class AgentResolver:
    """The only way from an RPC to the API. `where` is the prefix of field names in error texts."""

    def __init__(self, germane: Germane) -> None:
        self._germane = germane

    def scoped(self, scope: memory_pb2.Scope, call: RpcCall) -> Agent:
        """Checks a request's scope and returns its agent's handle. Raises `Refused` and `InvalidInput`."""
        org = self.authorise(call, org=scope.org_id, agent=scope.agent_id, where="scope.")
        return self.agent(org, scope.agent_id, user=scope.user_id, zone=scope.zone)

    def agent(self, org: str, agent: str, *, user: str = "", zone: str = "") -> Agent:
        """Returns the handle on an agent, for an org that `authorise` returned. Raises `InvalidInput`."""
        return self._germane.agent(agent, org=org, user=user or None, zone=zone or "UTC")

    async def agents(self, org: str, call: RpcCall, *, limit: int, cursor: str | None) -> AgentPage:
        """Returns a page of an org's agents, for a key that allows all of them. Raises `Refused` and `InvalidInput`."""
        org = org or ("" if call.grant is None else call.grant.org)
        if not org:
            raise invalid("org_id is missing: say whose agents to list")
        Scope(org=org)
        if call.grant is not None and not call.grant.allows_all(call.right, org=org):
            raise denied()
        call.record.org = org
        return await self._germane.agents(org, limit=limit, cursor=cursor)

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
