"""Reach: from what a request names to the agent's handle, if the caller's key opens it. The one way from here to the front."""

from __future__ import annotations

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.grpc.authentication import denied
from germane.grpc.call import Call
from germane.grpc.refusals import invalid
from germane.grpc.stubs import memory_pb2
from germane.types.scope import Scope

__all__ = ["AgentResolver"]


class AgentResolver:
    def __init__(self, germane: Germane) -> None:
        self._germane = germane

    def scoped(self, scope: memory_pb2.Scope, call: Call) -> Agent:
        return self.agent(call, org=scope.org_id, agent=scope.agent_id, user=scope.user_id, zone=scope.zone, where="scope.")

    def agent(self, call: Call, *, org: str, agent: str, user: str = "", zone: str = "", where: str = "") -> Agent:
        """`where` stands before the names of fields. Raises `Refused` for what is missing or not the key's, `InvalidInput`."""
        org = self.admit(call, org=org, agent=agent, where=where)
        return self._germane.agent(agent, org=org, user=user or None, zone=zone or "UTC")

    def admit(self, call: Call, *, org: str, agent: str, where: str = "") -> str:
        """The org, which is the key's where none is named. Raises `Refused`, and `InvalidInput` for what is no org's or agent's
        name, before it is in any log."""
        org = org or ("" if call.grant is None else call.grant.org)
        if not org:
            raise invalid(f"{where}org_id is missing: say whose things these are")
        if not agent:
            raise invalid(f"{where}agent_id is missing: say which agent it is")
        Scope(org=org, agent=agent)
        if call.grant is not None and not call.grant.allows(call.right, org=org, agent=agent):
            raise denied()
        call.seen.org, call.seen.agent = org, agent
        return org
