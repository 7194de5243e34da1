"""JSON Schema: the schema (draft 2020-12) of what the codec reads and writes, by the same annotations.

    schemas = Schemas("#/components/schemas/")
    schemas.of(Memory)       → {"$ref": "#/components/schemas/Memory"}
    schemas.definitions      → {"Memory": {"type": "object", "properties": …}, …}

The schemas say types, fields and allowed names; limits of length and number are the called method's. A class is described by
the first paragraph of its docstring.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from germane.types.codec import TYPE, Hash, is_record, must_name, tag_of

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = types.MappingProxyType(
    {
        str: {"type": "string"},
        bool: {"type": "boolean"},
        int: {"type": "integer"},
        float: {"type": "number"},
        bytes: {"type": "string", "contentEncoding": "base64"},
        datetime: {"type": "string", "format": "date-time"},
        date: {"type": "string", "format": "date"},
        type(None): {"type": "null"},
        dict: {"type": "object"},
        list: {"type": "array"},
    }
)


class Schemas:
    """Makes schemas, and collects those of classes by name. `root` is where the definitions will stand.

    The schemas are of what is read, in which fields with a default may be left out; with `written`, of what is written, which
    has every field. A class whose name is one of `taken` gets `Input` behind it.
    """

    def __init__(self, root: str, *, written: bool = False, taken: Iterable[str] = ()) -> None:
        self.definitions: dict[str, Schema] = {}
        self._root, self._written, self._taken = root, written, frozenset(taken)
        self._classes: dict[str, type] = {}

    def of(self, kind: Any) -> Schema:
        """Returns the schema of an annotation. Raises `TypeError` for one that the codec doesn't know."""
        if kind is Any or kind is object or isinstance(kind, TypeVar):
            return {}
        if kind == Hash:
            return {"type": "string", "pattern": "^[0-9a-f]{16}$"}
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return self._union(inner)
        if origin is Literal:
            return _names(inner)
        if isinstance(origin, type):
            return self._container(origin, inner)
        if kind in _PLAIN:
            return dict(_PLAIN[kind])
        if isinstance(kind, type):
            return self._class(kind)
        raise TypeError(f"no JSON value stands for {kind}")

    def _union(self, kinds: tuple[Any, ...]) -> Schema:
        named = must_name(kinds)
        choices: list[Schema] = []
        for kind in kinds:
            one = self.of(kind)
            if named and is_dataclass(kind) and isinstance(kind, type) and tag_of(kind) is None:
                one = {"allOf": [one], "properties": {TYPE: {"const": kind.__name__}}, "required": [TYPE]}
            if one not in choices:
                choices.append(one)
        if {} in choices:
            return {}
        return choices[0] if len(choices) == 1 else {"anyOf": choices}

    def _container(self, origin: type, inner: tuple[Any, ...]) -> Schema:
        if origin is tuple and not (len(inner) == 2 and inner[1] is ...):
            return _row([self.of(one) for one in inner])
        if issubclass(origin, Mapping):
            entries = self.of(inner[1])
            return {"type": "object", **({"additionalProperties": entries} if entries else {})}
        if not issubclass(origin, Iterable):
            raise TypeError(f"no JSON value stands for {origin}")
        unique = {"uniqueItems": True} if issubclass(origin, AbstractSet) else {}
        return {"type": "array", "items": self.of(inner[0]), **unique}

    def _class(self, kind: type) -> Schema:
        if issubclass(kind, Mapping):
            return {"type": "object"}
        if issubclass(kind, tuple) and hasattr(kind, "_fields") and not is_record(kind):
            hints = _hints(kind)
            return _row([self.of(hints[name]) for name in kind._fields])
        if not is_dataclass(kind) and not (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            raise TypeError(f"no JSON value stands for {kind}")
        name = kind.__name__ + ("Input" if kind.__name__ in self._taken else "")
        if (known := self._classes.setdefault(name, kind)) is not kind:
            raise TypeError(f"{known} and {kind} have one name")
        if name not in self.definitions:
            self.definitions[name] = {}  # a class may hold itself
            self.definitions[name].update(self._object(kind))
        return {"$ref": f"{self._root}{name}"}

    def _object(self, kind: type) -> Schema:
        hints, properties, required = _hints(kind), dict[str, Schema](), list[str]()
        if (tag := tag_of(kind)) is not None:
            properties[tag[0]] = {"const": tag[1]}
            required.append(tag[0])
        for name, needed in _fields(kind):
            properties[name] = self.of(hints[name])
            if needed or self._written:
                required.append(name)
        described = first_paragraph(kind)
        return {
            **({"description": described} if described else {}),
            "type": "object",
            "properties": properties,
            **({"required": required} if required else {}),
        }


def first_paragraph(described: Any) -> str:
    """Returns the first paragraph of a docstring as one line, empty where there is none, or only what `dataclass` writes."""
    text = inspect.cleandoc(described.__doc__ or "").partition("\n\n")[0]
    name = getattr(described, "__name__", "")
    return "" if text.startswith(f"{name}(") else " ".join(text.split())


def _names(allowed: tuple[Any, ...]) -> Schema:
    return {"enum": list(allowed)}


def _row(entries: list[Schema]) -> Schema:
    return {"type": "array", "prefixItems": entries, "minItems": len(entries), "maxItems": len(entries)}


def _fields(kind: Any) -> list[tuple[str, bool]]:
    """The fields that are written, and whether each must be given."""
    if not is_dataclass(kind):
        return [(name, name not in kind._field_defaults) for name in kind._fields]
    return [
        (one.name, one.init and one.default is MISSING and one.default_factory is MISSING) for one in fields(kind) if one.repr
    ]


def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
