"""Agent rooms: what an agent keeps of one kind, by name (`agent.blocks`, `agent.tasks` …), imported at the first use."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from germane.api.wiring import Parts
from germane.archetypes.archetype import Archetype
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.api.agent_blocks import MemoryBlocks
    from germane.api.agent_documents import Documents
    from germane.api.agent_events import EventLog
    from germane.api.agent_graph import KnownGraph
    from germane.api.agent_history import AgentHistory
    from germane.api.agent_memories import Recollections
    from germane.api.agent_tasks import TaskStack
    from germane.api.builder.builder import Builder

__all__ = ["AgentRooms"]


class AgentRooms:
    """The part of `Agent` that opens its rooms."""

    def __init__(self, parts: Parts, scope: Scope, archetype: Archetype | None) -> None:
        self._parts, self.scope, self._archetype = parts, scope, archetype

    @cached_property
    def memories(self) -> Recollections:
        """The memories, to read and correct."""
        from germane.api.agent_memories import Recollections

        return Recollections(self._parts.store.within(self.scope), self.scope, self._parts.clock, self._parts.secrets)

    @cached_property
    def blocks(self) -> MemoryBlocks:
        """The memory blocks."""
        from germane.api.agent_blocks import MemoryBlocks

        return MemoryBlocks(self._parts, self.scope)

    @cached_property
    def documents(self) -> Documents:
        """The documents."""
        from germane.api.agent_documents import Documents

        return Documents(self._parts, self.scope)

    @cached_property
    def events(self) -> EventLog:
        """What the agent did."""
        from germane.api.agent_events import EventLog

        return EventLog(self._parts, self.scope, self._archetype)

    @cached_property
    def graph(self) -> KnownGraph:
        """The people, places and things, and how they relate."""
        from germane.api.agent_graph import KnownGraph

        return KnownGraph(self._parts, self.scope)

    @cached_property
    def tasks(self) -> TaskStack:
        """The stack of tasks."""
        from germane.api.agent_tasks import TaskStack

        return TaskStack(self._parts, self.scope)

    @cached_property
    def history(self) -> AgentHistory:
        """The conversations, to compact them."""
        from germane.api.agent_history import AgentHistory

        return AgentHistory(self._parts, self.scope)

    def builder(self) -> Builder:
        """Returns a builder of whole requests: instructions, blocks, tools and their rules, history, what is remembered."""
        from germane.api.builder.builder import Builder
        from germane.api.builder.building import Building

        return Builder(Building(self._parts, self.scope).build, zone=self.scope.zone)
