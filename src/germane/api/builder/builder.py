"""Builder: assembles a whole request for a model, step by step (BUILD-1).

    request = await (
        agent.builder()
        .with_model("claude-opus-4-8")
        .with_base_instructions("You are Entropy, a task breakdown specialist.")
        .with_messages(messages)
        .with_tools(tools)
        .with_session("s1")
    )
    reply = await client.messages.create(**request.as_kwargs())

Each step returns a new builder and leaves the old one as it is, so that one builder serves many requests. Steps check their
arguments; building itself raises nothing more: a part that germane fails to give is left out, and the metadata say so.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from germane.api.builder.built_request import BuiltRequest
from germane.api.builder.steps import BuilderSteps

__all__ = ["Builder"]


class Builder(BuilderSteps):
    """Made by `agent.builder()`; awaited, it builds."""

    __slots__ = ()

    async def build(self) -> BuiltRequest:
        """Builds the request. Raises `InvalidInput` for arguments that can't be used, and nothing else: a part that can't be
        had is left out, and `metadata.faults` says why."""
        built: BuiltRequest = await self.carry_out(self._plan)
        return built

    def __await__(self) -> Generator[Any, Any, BuiltRequest]:
        return self.build().__await__()
