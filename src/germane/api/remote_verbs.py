"""Remote verbs: operations where the library's own method takes or returns more than data, such as a `Delegation` that acts.

Each does what the method of `Agent` with the same name does, and returns what a client in another process can use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.api.agent import Agent
from germane.kinds.tasks.value import RemoteDelegation
from germane.types.limits import check_answer_time
from germane.types.message import Message, Raw
from germane.types.operation import operation
from germane.types.query import Filters


def plain_messages(messages: Iterable[Raw]) -> list[Mapping[str, Any]]:
    """Returns the messages as dicts."""
    return [{"role": one.role, "content": one.content} if isinstance(one, Message) else one for one in messages]


class RemoteVerbs:
    """The verbs of one agent's scope."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    @operation("write", also_reads=True)
    async def delegate(
        self,
        task: str,
        mode: str = "brief",
        *,
        model: str,
        session: str | None = None,
        messages: Sequence[Raw] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        agent_wide: bool = False,
        deadline: float = 5.0,
    ) -> RemoteDelegation:
        """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps
        from the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
        `GermaneError` for a key that may not read."""
        check_answer_time("deadline", deadline)
        given = await self._agent.delegate(
            task,
            mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            scope=replace(self._agent.scope, user=None) if agent_wide else None,
            deadline=deadline,
        )
        return RemoteDelegation(
            frame=given.frame,
            messages=plain_messages(given.messages),
            system=given.system,
            tokens=given.tokens,
            explanation=given.explain(),
        )
