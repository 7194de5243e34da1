"""Tool schema: the JSON Schema of a tool's arguments, read from Gemini's form of a schema, and made fit for each provider."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["from_openapi", "is_closed", "rooted"]

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
