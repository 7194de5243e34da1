"""Tool shapes: reads tools in the shape of any provider: OpenAI chat and responses, Anthropic, Gemini, and MCP's.

The shape is recognised by the keys, tool by tool, so that a list may be mixed. One dict of Gemini's may hold many functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from germane.dialects.envelope import mapping, type_name
from germane.dialects.tool_schema import from_openapi, is_closed
from germane.errors import InvalidInput
from germane.types.extent import Extent
from germane.types.limits import TOOL_CHARACTERS, TOOLS, within
from germane.types.tool import Tool

__all__ = ["parse_tools"]

_DATED = re.compile(r".{1,200}_\d{8}")
"""The type of one of Anthropic's own tools, such as `web_search_20250305`."""
_FUNCTIONS = ("functionDeclarations", "function_declarations")
_OWN = {
    "openai": ("name", "description", "parameters", "strict"),
    "openai-responses": ("type", "name", "description", "parameters", "strict"),
    "anthropic": ("type", "name", "description", "input_schema", "strict", "cache_control"),
    "gemini": ("name", "description", "parameters", "parametersJsonSchema", "parameters_json_schema"),
    "": ("name", "description", "inputSchema", "parameters", "strict"),
}
"""The fields of each shape that `Tool` has; all others are extras."""


def parse_tools(raws: object) -> tuple[Tool, ...]:
    """Reads tools in any provider's shape; a `Tool` stays as it is. Raises `InvalidInput` naming what can't be read."""
    if isinstance(raws, str | bytes | Mapping) or not isinstance(raws, Iterable):
        raise InvalidInput(f"tools must be a list of tool schemas, not {type_name(raws)}")
    given = tuple(islice(raws, TOOLS.maximum + 1))
    within("tools", len(given), TOOLS, at_least=True)
    extent, found = Extent("tools", TOOL_CHARACTERS), list[Tool]()
    for index, raw in enumerate(given):
        where = f"tools[{index}]"
        if isinstance(raw, Tool):
            extent.part(where, [raw.name, raw.description, raw.schema, raw.extras])
            found.append(raw)
            continue
        fields = mapping(raw)
        if fields is None:
            raise InvalidInput(f"{where} must be a tool's schema as a dict, not {type_name(raw)}")
        extent.part(where, fields)
        found += _read(where, fields)
    within("tools", len(found), TOOLS)
    return tuple(found)


def _read(where: str, raw: Mapping[str, Any]) -> Iterator[Tool]:
    kind = raw.get("type")
    inner = mapping(raw.get("function"))
    if kind == "function" and inner is not None:
        yield _function(where, "openai", inner, raw)
    elif kind == "function" and "name" in raw:
        yield _function(where, "openai-responses", raw, raw)
    elif "input_schema" in raw:
        yield _function(where, "anthropic", raw, raw)
    elif "inputSchema" in raw:
        yield _function(where, "", raw, raw)
    elif isinstance(kind, str):
        provider = "anthropic" if _DATED.fullmatch(kind) else "openai" if kind in raw else "openai-responses"
        yield _builtin(provider, kind, raw)
    elif "name" in raw:
        json_schema = "parametersJsonSchema" in raw or "parameters_json_schema" in raw
        yield _function(where, "gemini" if json_schema else "", raw, raw)
    elif raw:
        yield from _of_gemini(where, raw)
    else:
        raise InvalidInput(f"{where} is empty: give a tool's schema with a name")


def _of_gemini(where: str, raw: Mapping[str, Any]) -> Iterator[Tool]:
    """The functions of one of Gemini's tools, and each of Gemini's own tools beside them."""
    for key, value in raw.items():
        if key not in _FUNCTIONS:
            yield _builtin("gemini", str(key)[:100], {key: value})
            continue
        if not isinstance(value, list | tuple):
            raise InvalidInput(f"{where}: {key} is {type_name(value)}: give a list of functions")
        for number, each in enumerate(value):
            fields = mapping(each)
            if fields is None:
                raise InvalidInput(f"{where}: {key}[{number}] is {type_name(each)}: give a function's schema as a dict")
            yield _function(f"{where}: {key}[{number}]", "gemini", fields, fields)


def _builtin(provider: str, kind: str, raw: Mapping[str, Any]) -> Tool:
    name = raw.get("name")
    cache = mapping(raw.get("cache_control"))
    return Tool(name=name if isinstance(name, str) and name else kind, cache=cache, provider=provider, builtin=True, raw=raw)


def _function(where: str, provider: str, fields: Mapping[str, Any], raw: Mapping[str, Any]) -> Tool:
    name, description, strict = fields.get("name"), fields.get("description"), fields.get("strict")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{where}: name is {type_name(name)}: give the function's name as a string")
    if not isinstance(description, str | None):
        raise InvalidInput(f"{where}: description is {type_name(description)}: give a string")
    if not isinstance(strict, bool | None):
        raise InvalidInput(f"{where}: strict is {type_name(strict)}: give True or False")
    schema = _schema(where, fields)
    if strict is None:  # the responses API keeps to the schema unless told otherwise, where it can
        strict = provider == "openai-responses" and is_closed(schema)
    return Tool(
        name=name,
        description=description or "",
        schema=schema,
        strict=strict,
        cache=mapping(fields.get("cache_control")),
        provider=provider,
        extras={key: value for key, value in fields.items() if key not in _OWN[provider] and value is not None},
        raw=raw,
    )


def _schema(where: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments' JSON Schema; empty where the function takes none."""
    for key in ("input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema", "parameters"):
        value = fields.get(key)
        if value is None:
            continue
        schema = mapping(value)
        if schema is None:
            raise InvalidInput(f"{where}: {key} is {type_name(value)}: give a JSON Schema as a dict")
        return from_openapi(schema) if key == "parameters" and _is_openapi(schema) else schema
    return {}


def _is_openapi(schema: Mapping[str, Any]) -> bool:
    """Whether this is Gemini's form of a schema: JSON Schema writes its types in lower case."""
    kind = schema.get("type")
    return isinstance(kind, str) and kind.isupper()
