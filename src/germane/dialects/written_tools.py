"""Written tools: tools in the shape of one provider, and what was lost on the way (BUILD-5).

A tool that was read from the same provider goes back as the caller's own dict. What a provider has no field for is named as a
loss, and so is a name that had to be changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from germane.dialects import anthropic_check, openai_check
from germane.dialects.gemini_check import NAME as GEMINI_NAME
from germane.dialects.registry import dialect
from germane.dialects.tool_schema import is_closed, rooted
from germane.dialects.tool_shapes import parse_tools
from germane.dialects.wording import sendable, tool_name
from germane.types.tool import Tool, ToolLoss

__all__ = ["WrittenTools", "convert_tools", "write_tools"]

_NAMES = {
    "openai": (openai_check.FUNCTION, 64),
    "openai-responses": (openai_check.FUNCTION, 64),
    "anthropic": (anthropic_check.NAME, 128),
    "gemini": (GEMINI_NAME, 128),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTools:
    """`tools` is ready for the SDK's call; `losses` say what the provider doesn't take. `names` are the tools' names there by
    their own, where they had to be changed: a call of the model's carries the name there."""

    tools: list[Mapping[str, Any]] = field(default_factory=list)
    losses: tuple[ToolLoss, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)


def convert_tools(raws: object, provider: str) -> WrittenTools:
    """Reads tools in any shape and writes them in that of `provider`: `openai`, `openai-responses`, `anthropic` or `gemini`.
    Raises `InvalidInput` naming the tool that can't be read, and `UnknownName` for another provider."""
    return write_tools(parse_tools(raws), provider)


def write_tools(tools: Sequence[Tool], provider: str) -> WrittenTools:
    """Writes tools in the shape of `provider`. Raises `UnknownName` for an unknown one."""
    writer = _Writer(dialect(provider).name)
    for tool in tools:
        writer.add(tool)
    return writer.written()


class _Writer:
    """Collects the tools of one list. Names stay unique."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._tools: list[Mapping[str, Any]] = []
        self._functions: list[Mapping[str, Any]] = []
        self._losses: list[ToolLoss] = []
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def add(self, tool: Tool) -> None:
        own = tool.provider == self._provider and bool(tool.raw)
        if tool.builtin:
            if own:
                self._tools.append(tool.raw)
            else:
                self._lose(tool, "tool", f"it is a tool of {tool.provider or 'another provider'}'s own")
            return
        name = self._named(tool)
        target = self._functions if self._provider == "gemini" else self._tools
        if own and name == tool.name:
            target.append(tool.raw)
            return
        for key in tool.extras:
            self._lose(tool, str(key)[:100], f"{self._provider} has no such field")
        if tool.cache is not None and self._provider != "anthropic":
            self._lose(tool, "cache_control", f"{self._provider} takes no cache marks")
        target.append(self._function(tool, name))

    def written(self) -> WrittenTools:
        functions: list[Mapping[str, Any]] = [{"functionDeclarations": self._functions}] if self._functions else []
        return WrittenTools(tools=[*functions, *self._tools], losses=tuple(self._losses), names=self._names)

    def _function(self, tool: Tool, name: str) -> dict[str, Any]:
        described = {"description": sendable(tool.description)} if tool.description else {}
        if self._provider == "gemini":
            if tool.strict:
                self._lose(tool, "strict", "gemini has no such field of a function: set the mode of its function calling")
            return {
                "name": name,
                **described,
                "parametersJsonSchema": dict(tool.schema) or {"type": "object", "properties": {}},
            }
        schema, lost = rooted(tool.schema)
        for key in lost:
            self._lose(tool, key, f"{self._provider} takes no {key} at the root of a schema but an object's")
        if self._provider == "anthropic":
            strict = {"strict": True} if tool.strict else {}
            mark = {"cache_control": dict(tool.cache)} if tool.cache is not None else {}
            return {"name": name, **described, "input_schema": schema, **strict, **mark}
        closed = tool.strict and is_closed(schema)
        if tool.strict and not closed:
            self._lose(tool, "strict", f"{self._provider} demands that a strict schema requires all properties and no others")
        if self._provider == "openai":
            strict = {"strict": True} if closed else {}
            return {"type": "function", "function": {"name": name, **described, "parameters": schema, **strict}}
        return {"type": "function", "name": name, **described, "parameters": schema, "strict": closed}

    def _named(self, tool: Tool) -> str:
        """The tool's name as the provider takes it, different from those before it."""
        form, longest = _NAMES[self._provider]
        name = wanted = tool.name if form.fullmatch(tool.name) else tool_name(tool.name, longest)
        while name in self._taken:
            number = self._numbers[wanted] = self._numbers.get(wanted, 1) + 1
            name = f"{wanted[: longest - len(str(number)) - 1]}_{number}"
        self._taken.add(name)
        if name != tool.name:
            self._names.setdefault(tool.name, name)
            self._lose(tool, "name", f"it is written as {name}")
        return name

    def _lose(self, tool: Tool, what: str, reason: str) -> None:
        self._losses.append(ToolLoss(tool=tool.name, field=what, reason=reason))
