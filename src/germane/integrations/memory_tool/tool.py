"""Tool: the memory tool as a function for any agent loop, from the input of a tool call to the text of its result.

The tool is declared to a model in the shape of its provider.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, overload

from germane import sync
from germane.api.agent import Agent
from germane.errors import UnknownName, quoted
from germane.integrations.memory_tool.commands import COMMANDS, MemoryCommands, ToolAnswer

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
        command = _parse_input(input)
        return command if isinstance(command, ToolAnswer) else await self._commands.answer(command)

    def definition(self, provider: str = "anthropic") -> dict[str, Any]:
        """Returns the tool in the shape of a provider; see `germane.integrations.memory_tool.tool`."""
        return definition(provider, hashes=self._hashes)


class BlockingMemoryTool:
    """As `MemoryTool`, for an agent of `germane.sync`."""

    def __init__(self, commands: MemoryCommands, *, hashes: bool = False) -> None:
        self._awaited = MemoryTool(commands, hashes=hashes)

    def __call__(self, input: ToolInput) -> str:
        return self.answer(input).text

    def answer(self, input: ToolInput) -> ToolAnswer:
        return run_unawaited(self._awaited.answer(input))

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


def run_unawaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never waits, and returns its result."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise AssertionError("the blocking blocks waited")


def _parse_input(input: object) -> Mapping[str, Any] | ToolAnswer:
    if isinstance(input, str):
        try:
            input = json.loads(input)
        except (ValueError, RecursionError):
            return ToolAnswer(text="The input of the call isn't a JSON object: send the command again.", is_error=True)
    if isinstance(input, Mapping):
        return input
    return ToolAnswer(text=f"The input of the call must be an object with a command, not {quoted(input)}.", is_error=True)


# How the tool is declared to a model, in the shape of each provider.


NAME = "memory"
PROVIDERS = ("anthropic", "openai", "openai-responses", "gemini", "json")
_DESCRIPTION = (
    "Your own memory: text files under /memories that stay between conversations. View /memories before you begin, keep the"
    " files short and up to date, and note what you will need later. Files under /memories/system are always shown to you;"
    " others only when you view them. `view` shows a directory or the numbered lines of a file. `create` makes a new file."
    " `str_replace` replaces a text that occurs exactly once in a file. `insert` adds lines after a line (0: at the beginning)."
    " `delete` and `rename` take a file or a directory."
)


def definition(provider: str, *, hashes: bool = False) -> dict[str, Any]:
    """Returns the tool in the shape of `provider`: Anthropic's own memory tool, a function of OpenAI's chat completions or
    responses, a function declaration of Gemini's, or (`json`) its name, description and JSON schema. `hashes` adds `if_hash` to
    the schema. Raises `UnknownName`."""
    if provider == "anthropic":
        return {"type": "memory_20250818", "name": NAME}
    function = {"name": NAME, "description": _DESCRIPTION, "parameters": _schema(hashes)}
    match provider:
        case "openai":
            return {"type": "function", "function": function}
        case "openai-responses":
            return {"type": "function", **function, "strict": False}
        case "gemini" | "json":
            return function
    raise UnknownName("{} is unknown", provider, path="provider", advice=f"give one of {', '.join(PROVIDERS)}")


def _schema(hashes: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "command": {"type": "string", "enum": list(COMMANDS), "description": "What to do."},
        "path": _string("The file or directory, such as /memories/notes.md; for every command but rename."),
        "view_range": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "For view of a file: its first and its last line to show, such as [1, 20]; -1 is the end.",
        },
        "file_text": _string("For create: the content of the new file."),
        "old_str": _string("For str_replace: the text to replace, exactly as it stands in the file."),
        "new_str": _string("For str_replace: the text to put in its place."),
        "insert_line": {"type": "integer", "description": "For insert: the line to insert after; 0 is the beginning."},
        "insert_text": _string("For insert: the lines to insert."),
        "old_path": _string("For rename: the present path."),
        "new_path": _string("For rename: the new path, where nothing is yet."),
        "reason": _string("Why you make the change, in a few words; it is kept with the version."),
    }
    if hashes:
        fields["if_hash"] = _string(
            "The content_sha256 that view showed, for a change of that file: it is refused where the file has changed since."
        )
    return {"type": "object", "properties": fields, "required": ["command"]}


def _string(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}
