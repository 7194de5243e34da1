"""Figures: named token prices in a text of the catalog, such as `page:1568 pdf:2700`: of files, and of a provider's own tools.

Of media, `page` is a page of a PDF whose bytes are there; `pdf`, `audio` and `video` are files of which only a URI or an id is
known: what such a file costs is known to nobody beforehand, so these are what recorded calls were billed. Of tools, a name
stands for all types that begin with it, and `*` for all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput

__all__ = ["MEDIA", "figures", "own_tool_tokens"]

MEDIA = ("page", "pdf", "audio", "video")
_FUNCTIONS = ("function", "custom", "function_declarations", "functionDeclarations")


@cache
def figures(rule: str) -> Mapping[str, int]:
    """Returns the figures by name. Raises `InvalidInput` for a text of another form."""
    found: dict[str, int] = {}
    for each in rule.split():
        name, _, number = each.rpartition(":")
        if not name or not (number.isascii() and number.isdecimal() and len(number) < 10):
            raise InvalidInput(f"unknown figures {rule!r}: write them as 'name:tokens', such as 'page:1568 pdf:2700'")
        found[name] = int(number)
    return MappingProxyType(found)


def own_tool_tokens(tool: Mapping[str, Any], rule: str) -> int:
    """Returns what the provider adds to the prompt for a tool of its own; 0 for a function."""
    if "input_schema" in tool or any(key in tool for key in _FUNCTIONS):
        return 0
    kind = tool.get("type")
    if kind is None and "name" in tool:
        return 0
    kinds = [kind] if isinstance(kind, str) else [str(key)[:100] for key in tool]  # Gemini names its tools by a key
    return sum(_of(each, figures(rule)) for each in kinds if each not in _FUNCTIONS)


def _of(kind: str, known: Mapping[str, int]) -> int:
    plain = _plain(kind)
    names = [name for name in known if plain.startswith(_plain(name))]
    return known[max(names, key=len)] if names else known.get("*", 0)


def _plain(name: str) -> str:
    """A name as Gemini writes it in its two spellings."""
    return name.replace("_", "").lower()
