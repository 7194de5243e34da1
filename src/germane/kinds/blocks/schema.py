"""Schema: the five shapes that the content of a block can have, and their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from germane.errors import InvalidInput, UnknownName
from germane.kinds.blocks.field import Field, checked_flag, checked_name, checked_text
from germane.types.checks import check_size
from germane.types.codec import tagged
from germane.types.limits import LIST_ITEMS, SECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewport:
    """The lines of a long text that are shown: `lines` of them from line `start` (1 is the first). Where the text ends
    earlier, its last `lines` are shown."""

    start: int = 1
    lines: int

    def __post_init__(self) -> None:
        _check_count(self.start, "start of a viewport", maximum=1_000_000)
        _check_count(self.lines, "lines of a viewport", maximum=1_000_000)

    def as_dict(self) -> dict[str, Any]:
        return {"start": self.start, "lines": self.lines}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSchema:
    """Plain text."""

    kind: ClassVar[str] = "text"
    viewport: Viewport | None = None

    def __post_init__(self) -> None:
        if self.viewport is not None and not isinstance(self.viewport, Viewport):
            raise InvalidInput("must be a Viewport, not {}", self.viewport, path="viewport")

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind} | ({"viewport": self.viewport.as_dict()} if self.viewport else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSchema:
    """Named values; a name outside of `fields` is refused."""

    kind: ClassVar[str] = "map"
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _members(self.fields, Field, "fields of a map"))

    def field(self, name: object) -> Field:
        """Returns the field with this name. Raises `UnknownName`."""
        found = checked_name(name, "field")
        for one in self.fields:
            if one.name == found:
                return one
        raise UnknownName(
            "the map has no field {}", found, advice=f"its fields are {', '.join(one.name for one in self.fields)}"
        )

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "fields": [one.as_dict() for one in self.fields]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSchema:
    """Items in an order; with `checkboxes` each can be done."""

    kind: ClassVar[str] = "list"
    item: Literal["text", "object"] = "text"
    max_items: int = LIST_ITEMS.maximum
    checkboxes: bool = False

    def __post_init__(self) -> None:
        if self.item not in ("text", "object"):
            raise UnknownName("item of a list can't be {}: it is text or object", self.item)
        _check_count(self.max_items, "max_items of a list", maximum=LIST_ITEMS.maximum)
        checked_flag(self.checkboxes, "checkboxes of a list")

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "item": self.item, "max_items": self.max_items, "checkboxes": self.checkboxes}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSchema:
    """Entries that are only added. The newest `display_limit` are shown; beyond `max_entries` the oldest are dropped.
    `timestamp` and `agent` say whether an entry shows when it was written and by whom."""

    kind: ClassVar[str] = "log"
    display_limit: int = 20
    timestamp: bool = True
    agent: bool = False
    max_entries: int = LIST_ITEMS.maximum

    def __post_init__(self) -> None:
        _check_count(self.display_limit, "display_limit of a log", maximum=LIST_ITEMS.maximum)
        _check_count(self.max_entries, "max_entries of a log", maximum=LIST_ITEMS.maximum)
        for flag in ("timestamp", "agent"):
            checked_flag(getattr(self, flag), f"{flag} of a log")

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind} | {one.name: getattr(self, one.name) for one in fields(self)}


SimpleSchema = TextSchema | MapSchema | ListSchema | LogSchema
"""A schema that a section can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSection:
    """A part of a composite block. Agents can't write a section that is `read_only`, system operations can."""

    name: str
    schema: SimpleSchema = TextSchema()
    read_only: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name, "the name of a section"))
        if not isinstance(self.schema, SimpleSchema):
            raise InvalidInput("section {} must be text, a map, a list or a log, not {}", self.name, self.schema)
        checked_flag(self.read_only, f"read_only of section {self.name!r}")
        checked_text(self.description, f"the description of section {self.name!r}")

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"name": self.name, "schema": self.schema.as_dict()}
        return (
            found
            | ({"read_only": True} if self.read_only else {})
            | ({"description": self.description} if self.description else {})
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositeSchema:
    """Named sections, each with a schema of its own; sections don't nest."""

    kind: ClassVar[str] = "composite"
    sections: tuple[BlockSection, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "sections", _members(self.sections, BlockSection, "sections of a composite"))

    def section(self, name: object) -> BlockSection:
        """Returns the section with this name. Raises `UnknownName`."""
        found = checked_name(name, "section")
        for one in self.sections:
            if one.name == found:
                return one
        raise UnknownName(
            "the block has no section {}", found, advice=f"they are {', '.join(one.name for one in self.sections)}"
        )

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "sections": [one.as_dict() for one in self.sections]}


Schema = SimpleSchema | CompositeSchema
SCHEMAS: Mapping[str, type[Schema]] = MappingProxyType(
    {"text": TextSchema, "map": MapSchema, "list": ListSchema, "log": LogSchema, "composite": CompositeSchema}
)
"""The shapes by the name that `type` has in JSON."""
tagged("type", SCHEMAS)


def undescribed(schema: Schema) -> Schema:
    """Returns the schema without the descriptions of its fields and sections."""
    if not isinstance(schema, CompositeSchema):
        return _undescribed(schema)
    sections = (replace(one, description="", schema=_undescribed(one.schema)) for one in schema.sections)
    return replace(schema, sections=tuple(sections))


def _undescribed(schema: SimpleSchema) -> SimpleSchema:
    if not isinstance(schema, MapSchema):
        return schema
    return replace(schema, fields=tuple(replace(one, description="") for one in schema.fields))


def parse_schema(value: object, argument: str = "schema") -> Schema:
    """Returns a schema from its JSON, such as `{"type": "list", "checkboxes": true}`, from the name of a shape that needs
    nothing else, or as it is. Raises `InvalidInput`, which says what is wrong where."""
    if isinstance(value, Schema):
        return value
    given = _dict({"type": value} if isinstance(value, str) else value, argument)
    kind = given.pop("type", None)
    if not isinstance(kind, str) or kind not in SCHEMAS:
        raise UnknownName(f"type of {argument} can't be {{}}", kind, advice=f"it is one of {', '.join(SCHEMAS)}")
    if kind == "text" and given.get("viewport") is not None:
        given["viewport"] = _made(Viewport, _dict(given["viewport"], "viewport"), "viewport")
    if kind == "map" and "fields" in given:
        given["fields"] = [
            one if isinstance(one, Field) else _made(Field, _dict(one, "a field"), "a field")
            for one in _listed(given["fields"], "fields of a map")
        ]
    if kind == "composite" and "sections" in given:
        given["sections"] = [_section(one) for one in _listed(given["sections"], "sections of a composite")]
    made: Schema = _made(SCHEMAS[kind], given, f"a {kind}")
    return made


def _section(value: object) -> BlockSection:
    if isinstance(value, BlockSection):
        return value
    given = _dict(value, "a section")
    if "schema" in given:
        given["schema"] = parse_schema(given["schema"], "the schema of a section")
    made: BlockSection = _made(BlockSection, given, "a section")
    return made


def _made(shape: type[Any], given: dict[str, Any], where: str) -> Any:
    """Makes a value of a class from its fields. Raises `InvalidInput` for a field that it lacks, and for one that is
    missing."""
    known = {one.name: one for one in fields(shape)}
    for name in given:
        if name not in known:
            raise UnknownName(f"{where} has no {{}}", name, advice=f"it has {', '.join(known) or 'nothing but its type'}")
    for name, one in known.items():
        if name not in given and one.default is MISSING:
            raise InvalidInput(f"{where} needs {name}")
    return shape(**given)


def _dict(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInput(f"{where} must be an object with named values, not {{}}", value)
    return dict(value)


def _listed(value: object, where: str) -> Iterable[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{where} must be a list, not {{}}", value)
    check_size(where, len(value), SECTIONS)
    return value


def _members(value: object, shape: type[Any], where: str) -> tuple[Any, ...]:
    """Returns the fields or sections as a tuple, after checking their type, number and names."""
    found = tuple(_listed(value, where))
    if not found:
        raise InvalidInput(f"{where}: there are none, give at least one")
    names = set[str]()
    for one in found:
        if not isinstance(one, shape):
            raise InvalidInput(f"{where} must be of type {shape.__name__}, not {{}}", one)
        if one.name.casefold() in names:
            raise InvalidInput(f"{where} have the name {{}} twice: names differ in more than case", one.name)
        names.add(one.name.casefold())
    return found


def _check_count(value: object, where: str, *, maximum: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= maximum:
        raise InvalidInput(f"{where} must be a whole number from 1 to {maximum:,}, not {{}}", value)
