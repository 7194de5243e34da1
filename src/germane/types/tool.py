"""Tool: a tool that a model may call, in a shape of no provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Tool", "ToolLoss"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """`schema` is the JSON Schema of the arguments; `strict` says that the provider must keep the model to it; `cache` is the
    mark of a provider with explicit prompt caching, for the prefix that ends with this tool.

    `provider` is the dialect that the tool was read from, and `raw` the caller's own dict, which goes back to that provider as
    it is; `extras` are the fields that only that provider has. With `builtin`, the tool is the provider's own (a web search, a
    code interpreter), of which nothing else knows the schema.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False)
    strict: bool = False
    cache: Mapping[str, Any] | None = field(default=None, hash=False)
    provider: str = ""
    builtin: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict, hash=False)
    raw: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLoss:
    """What a tool lost when it was written for another provider: the field, `tool` where the whole tool was left out."""

    tool: str
    field: str
    reason: str
