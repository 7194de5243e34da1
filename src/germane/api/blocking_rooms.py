"""Blocking rooms: what a blocking agent keeps of one kind, by name (`agent.blocks` …), imported at the first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from germane.api import agent as agents
    from germane.api.blocking_blocks import MemoryBlocks
    from germane.api.blocking_documents import Documents
    from germane.api.blocking_events import EventLog
    from germane.api.blocking_graph import KnownGraph
    from germane.api.blocking_history import AgentHistory
    from germane.api.blocking_tasks import Delegations, TaskStack
    from germane.api.loop_thread import Loop

__all__ = ["BlockingRooms"]


class BlockingRooms:
    """As `germane.api.agent_rooms.AgentRooms`."""

    def __init__(self, awaited: agents.Agent, loop: Loop) -> None:
        self._awaited, self._loop = awaited, loop

    @cached_property
    def blocks(self) -> MemoryBlocks:
        from germane.api.blocking_blocks import MemoryBlocks

        return MemoryBlocks(self._awaited.blocks, self._loop)

    @cached_property
    def documents(self) -> Documents:
        from germane.api.blocking_documents import Documents

        return Documents(self._awaited.documents, self._loop)

    @cached_property
    def events(self) -> EventLog:
        from germane.api.blocking_events import EventLog

        return EventLog(self._awaited.events, self._loop)

    @cached_property
    def graph(self) -> KnownGraph:
        from germane.api.blocking_graph import KnownGraph

        return KnownGraph(self._awaited.graph, self._loop)

    @cached_property
    def tasks(self) -> TaskStack:
        from germane.api.blocking_tasks import TaskStack

        return TaskStack(self._awaited.tasks, self._loop)

    @cached_property
    def history(self) -> AgentHistory:
        from germane.api.blocking_history import AgentHistory

        return AgentHistory(self._awaited.history, self._loop)

    @cached_property
    def delegations(self) -> Delegations:
        from germane.api.blocking_tasks import Delegations

        return Delegations(self._awaited.delegations, self._loop)
