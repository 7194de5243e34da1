"""Schema: the five shapes that the content of a block can have, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from germane.errors import InvalidInput, UnknownName
from germane.kinds.blocks.field import Field, checked_name, checked_text
from germane.types.checks import check_flag, check_size, check_table, check_type, check_whole_number
from germane.types.codec import tagged
from germane.types.limits import LIST_ITEMS, SECTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewport:
    """The lines of a long text that are shown: `lines` of them from line `start` (1 is the first). Where the text ends
    earlier, its last `lines` are shown."""

    start: int = 1
    lines: int

    def __post_init__(self) -> None:
        check_whole_number("start", self.start, 1, 1_000_000)
        check_whole_number("lines", self.lines, 1, 1_000_000)

    def as_dict(self) -> dict[str, Any]:
        return {"start": self.start, "lines": self.lines}


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSchema:
    """Plain text."""

    kind: ClassVar[str] = "text"
    viewport: Viewport | None = None

    def __post_init__(self) -> None:
        if self.viewport is not None:
            check_type("viewport", self.viewport, Viewport, "a Viewport")

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.kind} | ({"viewport": self.viewport.as_dict()} if self.viewport else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class MapSchema:
    """Named values; a name outside of `fields` is refused."""

    kind: ClassVar[str] = "map"
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _members(self.fields, Field, "fields"))

    def field(self, name: object) -> Field:
        """Returns the field with this name. Raises `UnknownName`."""
        found = checked_name(name, "field")
        for one in self.fields:
            if one.name == found:
                return one
        raise UnknownName(
            "{} is no field of the map",
            found,
            path="field",
            advice=f"its fields are {', '.join(one.name for one in self.fields)}",
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
            raise UnknownName("can't be {}", self.item, path="item", advice="it is text or object")
        check_whole_number("max_items", self.max_items, 1, LIST_ITEMS.maximum)
        check_flag("checkboxes", self.checkboxes)

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
        check_whole_number("display_limit", self.display_limit, 1, LIST_ITEMS.maximum)
        check_whole_number("max_entries", self.max_entries, 1, LIST_ITEMS.maximum)
        for flag in ("timestamp", "agent"):
            check_flag(flag, getattr(self, flag))

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
        object.__setattr__(self, "name", checked_name(self.name, "name"))
        if not isinstance(self.schema, SimpleSchema):
            raise InvalidInput("must be text, a map, a list or a log, not {}", self.schema, path="schema")
        check_flag("read_only", self.read_only)
        checked_text(self.description, "description")

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
        object.__setattr__(self, "sections", _members(self.sections, BlockSection, "sections"))

    def section(self, name: object) -> BlockSection:
        """Returns the section with this name. Raises `UnknownName`."""
        found = checked_name(name, "section")
        for one in self.sections:
            if one.name == found:
                return one
        raise UnknownName(
            "{} is no section of the block",
            found,
            path="section",
            advice=f"they are {', '.join(one.name for one in self.sections)}",
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
        raise UnknownName("can't be {}", kind, path=f"{argument}.type", advice=f"it is one of {', '.join(SCHEMAS)}")
    if kind == "text" and given.get("viewport") is not None:
        given["viewport"] = _made(Viewport, given["viewport"], f"{argument}.viewport")
    if kind == "map" and "fields" in given:
        given["fields"] = [
            one if isinstance(one, Field) else _made(Field, one, f"{argument}.fields[{index}]")
            for index, one in enumerate(_listed(given["fields"], f"{argument}.fields"))
        ]
    if kind == "composite" and "sections" in given:
        given["sections"] = [
            _section(one, f"{argument}.sections[{index}]")
            for index, one in enumerate(_listed(given["sections"], f"{argument}.sections"))
        ]
    made: Schema = _made(SCHEMAS[kind], given, argument)
    return made


def _section(value: object, path: str) -> BlockSection:
    if isinstance(value, BlockSection):
        return value
    given = _dict(value, path)
    if "schema" in given:
        given["schema"] = parse_schema(given["schema"], f"{path}.schema")
    made: BlockSection = _made(BlockSection, given, path)
    return made


def _made(shape: type[Any], value: object, path: str) -> Any:
    """Makes a value of a class from its fields. Raises `InvalidInput` for a field that it lacks, and for one that is
    missing."""
    given = _dict(value, path)
    known = {one.name: one for one in fields(shape)}
    for name in given:
        if name not in known:
            raise UnknownName("has no {}", name, path=path, advice=f"it has {', '.join(known) or 'nothing but its type'}")
    for name, one in known.items():
        if name not in given and one.default is MISSING:
            raise InvalidInput(f"needs {name}", path=path)
    try:
        return shape(**given)
    except InvalidInput as error:
        raise error.within(path) from None


def _dict(value: object, path: str) -> dict[str, Any]:
    return dict(check_table(path, value, "an object with named values"))


def _listed(value: object, path: str) -> Sequence[Any]:
    found: Sequence[Any] = check_type(path, value, (list, tuple), "a list")
    check_size(path, len(found), SECTIONS)
    return found


def _members(value: object, shape: type[Any], path: str) -> tuple[Any, ...]:
    """Returns the fields or sections as a tuple, after checking their type, number and names."""
    found = tuple(_listed(value, path))
    if not found:
        raise InvalidInput("is empty", path=path, advice="give at least one")
    names = set[str]()
    for one in found:
        check_type(path, one, shape, f"a list of {shape.__name__}")
        if one.name.casefold() in names:
            raise InvalidInput("has the name {} twice", one.name, path=path, advice="let names differ in more than case")
        names.add(one.name.casefold())
    return found
