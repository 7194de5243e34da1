"""Tools: reads tools in the shape of any provider or of MCP, and writes them in that of one (BUILD-5).

The shape is recognised by the keys, tool by tool, so that a list may be mixed. One dict of Gemini's may hold many
functions. A tool that was read from the same provider goes back as the caller's own dict. What a provider has no field for
is named as a loss, and so is a name that had to be changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any

from germane.dialects import anthropic_check, openai_chat
from germane.dialects.fields import mapping, tool_name, type_name
from germane.dialects.gemini import NAME as GEMINI_NAME
from germane.dialects.registry import dialect
from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.checks import check_size
from germane.types.limits import TOOL_CHARACTERS, TOOLS
from germane.types.message import Tool, ToolLoss
from germane.types.nested_data import Extent

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
        raise InvalidInput(f"must be a list of tool schemas, not {type_name(raws)}", path="tools")
    given = tuple(islice(raws, TOOLS.maximum + 1))
    check_size("tools", len(given), TOOLS, at_least=True)
    extent, found = Extent("tools", TOOL_CHARACTERS), list[Tool]()
    for index, raw in enumerate(given):
        where = f"tools[{index}]"
        if isinstance(raw, Tool):
            extent.part(where, [raw.name, raw.description, raw.schema, raw.extras])
            found.append(raw)
            continue
        fields = _fields(where, raw)
        if fields is None:
            raise InvalidInput(f"must be a tool's schema as a dict, not {type_name(raw)}", path=where)
        extent.part(where, fields)
        found += _read(where, fields)
    check_size("tools", len(found), TOOLS)
    return tuple(found)


def _fields(where: str, raw: object) -> Mapping[str, Any] | None:
    """The tool as a mapping; an SDK's object is dumped. Raises `InvalidInput` for one that can't be."""
    try:
        return mapping(raw)
    except Exception as error:
        raise InvalidInput(f"is a {type_name(raw)} that can't be read ({type_name(error)})", path=where) from error


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
        raise InvalidInput("is empty", path=where, advice="give a tool's schema with a name")


def _of_gemini(where: str, raw: Mapping[str, Any]) -> Iterator[Tool]:
    """The functions of one of Gemini's tools, and each of Gemini's own tools beside them."""
    for key, value in raw.items():
        if key not in _FUNCTIONS:
            yield _builtin("gemini", str(key)[:100], {key: value})
            continue
        if not isinstance(value, list | tuple):
            raise InvalidInput(f"is {type_name(value)}", path=f"{where}.{key}", advice="give a list of functions")
        for number, each in enumerate(value):
            fields = mapping(each)
            if fields is None:
                raise InvalidInput(
                    f"is {type_name(each)}", path=f"{where}.{key}[{number}]", advice="give a function's schema as a dict"
                )
            yield _function(f"{where}.{key}[{number}]", "gemini", fields, fields)


def _builtin(provider: str, kind: str, raw: Mapping[str, Any]) -> Tool:
    name = raw.get("name")
    cache = mapping(raw.get("cache_control"))
    return Tool(name=name if isinstance(name, str) and name else kind, cache=cache, provider=provider, builtin=True, raw=raw)


def _function(where: str, provider: str, fields: Mapping[str, Any], raw: Mapping[str, Any]) -> Tool:
    name, description, strict = fields.get("name"), fields.get("description"), fields.get("strict")
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"is {type_name(name)}", path=f"{where}.name", advice="give the function's name as a string")
    if not isinstance(description, str | None):
        raise InvalidInput(f"is {type_name(description)}", path=f"{where}.description", advice="give a string")
    if not isinstance(strict, bool | None):
        raise InvalidInput(f"is {type_name(strict)}", path=f"{where}.strict", advice="give True or False")
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
            raise InvalidInput(f"is {type_name(value)}", path=f"{where}.{key}", advice="give a JSON Schema as a dict")
        return from_openapi(schema) if key == "parameters" and _is_openapi(schema) else schema
    return {}


def _is_openapi(schema: Mapping[str, Any]) -> bool:
    """Whether this is Gemini's form of a schema: JSON Schema writes its types in lower case."""
    kind = schema.get("type")
    return isinstance(kind, str) and kind.isupper()


_NAMES = {
    "openai": (openai_chat.FUNCTION, 64),
    "openai-responses": (openai_chat.FUNCTION, 64),
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
        described = {"description": valid_unicode(tool.description)} if tool.description else {}
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


# The JSON Schema of a tool's arguments, read from Gemini's form of a schema, and made fit for each provider.


_KEYS: Mapping[str, str] = MappingProxyType(
    {
        "additional_properties": "additionalProperties",
        "any_of": "anyOf",
        "defs": "$defs",
        "max_items": "maxItems",
        "max_length": "maxLength",
        "max_properties": "maxProperties",
        "min_items": "minItems",
        "min_length": "minLength",
        "min_properties": "minProperties",
        "property_ordering": "propertyOrdering",
        "ref": "$ref",
    }
)
"""Gemini's names of keywords, in the SDK's spelling, and those of JSON Schema."""
_NUMBERS = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_SCHEMAS = frozenset({"items", "additionalProperties"})
_TABLES = frozenset({"properties", "$defs"})
_LISTS = frozenset({"anyOf"})
_NOT_AT_THE_ROOT = ("anyOf", "oneOf", "allOf", "enum", "not")
_OPEN = "$defs", "definitions", "properties", "items", "anyOf", "oneOf", "allOf", "prefixItems"


def from_openapi(schema: Any) -> Any:
    """Returns Gemini's schema (a part of OpenAPI 3.0: `OBJECT`, `nullable`, `any_of`) as JSON Schema. Anything that is no
    mapping is returned unchanged. The nesting must be bounded."""
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Any] = {}
    for key, value in schema.items():
        name = _KEYS.get(key, key)
        if name in _TABLES and isinstance(value, Mapping):
            value = {each: from_openapi(inner) for each, inner in value.items()}
        elif name in _LISTS and isinstance(value, list | tuple):
            value = [from_openapi(inner) for inner in value]
        elif name in _SCHEMAS:
            value = from_openapi(value)
        elif name in _NUMBERS and isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
            value = int(value)  # JSON of Gemini's API writes 64-bit numbers as strings
        elif name == "example":
            name, value = "examples", [value]
        elif name == "type" and isinstance(value, str):
            value = value.lower()
        out[name] = value
    if out.get("type") == "type_unspecified":
        del out["type"]
    if out.get("format") == "enum":
        del out["format"]
    return _nullable(out) if out.pop("nullable", False) is True else out


def rooted(schema: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns the schema as one of an object, as OpenAI and Anthropic demand, and the keywords at its root that had to go. A
    reference at the root is replaced by what it refers to."""
    found = _resolved(schema)
    lost = [key for key in _NOT_AT_THE_ROOT if key in found]
    out = {key: value for key, value in found.items() if key not in lost}
    kind = out.get("type")
    if kind != "object":
        lost += ["type"] if kind is not None else []
        out = {"type": "object"} | {key: value for key, value in out.items() if key != "type"}
    if not isinstance(out.get("properties"), Mapping):
        out["properties"] = {}
    return out, tuple(lost)


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Returns whether every object in the schema forbids other properties and requires all of its own, as OpenAI's strict mode
    demands."""
    for each in _objects(schema):
        properties = each.get("properties")
        names = set(properties) if isinstance(properties, Mapping) else set()
        required = each.get("required", ())
        if each.get("additionalProperties") is not False or not isinstance(required, list | tuple):
            return False
        if not all(isinstance(name, str) for name in required) or set(required) != names:
            return False
    return True


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema and isinstance(schema["enum"], list | tuple):
        schema["enum"] = [*schema["enum"], None]
    if isinstance(kind := schema.get("type"), str):
        return {**schema, "type": [kind, "null"]}
    if isinstance(inner := schema.get("anyOf"), list):
        return {**schema, "anyOf": [*inner, {"type": "null"}]}
    return schema


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema with its root's reference replaced, in case that leads to one of its own definitions."""
    place = schema.get("$ref")
    for table in ("$defs", "definitions"):
        definitions = schema.get(table)
        if isinstance(place, str) and place.startswith(f"#/{table}/") and isinstance(definitions, Mapping):
            target = definitions.get(place.removeprefix(f"#/{table}/"))
            if isinstance(target, Mapping) and "$ref" not in target:
                return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _objects(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields each schema of an object inside, the schema itself included."""
    waiting: list[Any] = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, Mapping):
            kind = each.get("type")
            if kind == "object" or (isinstance(kind, list | tuple) and "object" in kind) or "properties" in each:
                yield each
            for key in _OPEN:
                inner = each.get(key)
                waiting += (
                    inner.values() if key in ("properties", "$defs", "definitions") and isinstance(inner, Mapping) else [inner]
                )
