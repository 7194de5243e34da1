"""Tool: the memory tool as a function for any agent loop, from the input of a tool call to the text of its result."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, overload

from germane import sync
from germane.api.agent import Agent
from germane.memory_tool.answer import ToolAnswer
from germane.memory_tool.commands import MemoryCommands
from germane.memory_tool.definition import definition
from germane.types.limits import shown

__all__ = ["BlockingMemoryTool", "MemoryTool", "ToolInput", "memory_tool"]

T = TypeVar("T")
ToolInput = Mapping[str, Any] | str
"""The input of a tool call: an object, or its JSON as OpenAI's calls have it."""


class MemoryTool:
    """One conversation's memory tool, made by `memory_tool`. Awaiting it with the input of a tool call gives the text of the
    result; it never raises for what a model does wrong."""

    def __init__(self, commands: MemoryCommands, *, hashes: bool = False) -> None:
        self._commands, self._hashes = commands, hashes

    async def __call__(self, input: ToolInput) -> str:
        return (await self.answer(input)).text

    async def answer(self, input: ToolInput) -> ToolAnswer:
        """Returns the text for the model, with whether it is an error."""
        command = _parsed(input)
        return command if isinstance(command, ToolAnswer) else await self._commands.answer(command)

    def definition(self, provider: str = "anthropic") -> dict[str, Any]:
        """Returns the tool in the shape of a provider; see `germane.memory_tool.definition`."""
        return definition(provider, hashes=self._hashes)


class BlockingMemoryTool:
    """As `MemoryTool`, for an agent of `germane.sync`."""

    def __init__(self, commands: MemoryCommands, *, hashes: bool = False) -> None:
        self._awaited = MemoryTool(commands, hashes=hashes)

    def __call__(self, input: ToolInput) -> str:
        return self.answer(input).text

    def answer(self, input: ToolInput) -> ToolAnswer:
        return _driven(self._awaited.answer(input))

    def definition(self, provider: str = "anthropic") -> dict[str, Any]:
        return self._awaited.definition(provider)


@overload
def memory_tool(
    agent: Agent, *, permission: str = "admin", limit: int = 5_000, by: str = "", hashes: bool = False
) -> MemoryTool: ...
@overload
def memory_tool(
    agent: sync.Agent, *, permission: str = "admin", limit: int = 5_000, by: str = "", hashes: bool = False
) -> BlockingMemoryTool: ...
def memory_tool(
    agent: Agent | sync.Agent, *, permission: str = "admin", limit: int = 5_000, by: str = "", hashes: bool = False
) -> MemoryTool | BlockingMemoryTool:
    """Returns the memory tool of an agent, for one conversation: it remembers which version of a file was viewed last.

    Files that the model creates are its own: `permission` is `admin`, since `read_write` allows neither `delete` nor to move a
    file. They hold `limit` characters. `by` is kept with each edit, beside the agent's name. With `hashes`, `view` shows the
    `content_sha256` of a file, and an edit can give it back as `if_hash`."""
    chosen: dict[str, Any] = {"permission": permission, "limit": limit, "by": by, "hashes": hashes}
    if isinstance(agent, sync.Agent):
        return BlockingMemoryTool(MemoryCommands(_Awaited(agent.blocks), **chosen), hashes=hashes)
    return MemoryTool(MemoryCommands(agent.blocks, **chosen), hashes=hashes)


class _Awaited:
    """Blocking blocks as awaitable ones that are done at once."""

    def __init__(self, blocks: Any) -> None:
        self._blocks = blocks

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        verb = getattr(self._blocks, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return verb(*args, **kwargs)

        return call


def _driven(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("the blocking blocks waited")


def _parsed(input: object) -> Mapping[str, Any] | ToolAnswer:
    if isinstance(input, str):
        try:
            input = json.loads(input)
        except (ValueError, RecursionError):
            return ToolAnswer(text="The input of the call isn't a JSON object: send the command again.", is_error=True)
    if isinstance(input, Mapping):
        return input
    return ToolAnswer(text=f"The input of the call must be an object with a command, not {shown(input)}.", is_error=True)
