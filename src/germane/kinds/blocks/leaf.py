"""Leaf: the parts of a document that hold its content, one for each value of its schema, and the one way to read and write
them.

A composite has the leaves of its sections, a map one leaf for each field. `leaves` is the only function that names
containers, so what is written to a section is what is read from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from germane.errors import InvalidInput
from germane.kinds.blocks.field import Field
from germane.kinds.blocks.merge import Scratch, merged_items, merged_text, reorder, spliced, splices
from germane.kinds.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, SimpleSchema, TextSchema

if TYPE_CHECKING:
    from loro import LoroDoc


Stored = str | float | int | bool | tuple[str, ...] | None
"""What a leaf holds: a text, a count, items as JSON, or the value of a field (None: it has none)."""


Key = tuple[str, str]
"""The section and the field of a leaf, '' for none."""
Held = Mapping[Key, Stored]
"""What each leaf of a document holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One value of a document, of a section ('' without one) and of a field of a map. `kind` says how concurrent edits of it
    merge: a text and items keep both, a count adds up, of a value the later one stays."""

    kind: Literal["text", "items", "count", "value"]
    section: str = ""
    field: Field | None = None
    schema: SimpleSchema
    read_only: bool = False

    @property
    def key(self) -> Key:
        return self.section, self.field.name if self.field else ""

    @property
    def container(self) -> str:
        """The name of the container in the document. Names of sections and fields hold neither a colon nor a dot."""
        name = f"content:{self.section}" if self.section else "content"
        return name if self.field is None or self.kind == "value" else f"{name}.{self.field.name}"

    @property
    def where(self) -> str:
        """The words that name the leaf in an error."""
        names = [self.field.where] if self.field else []
        return " of ".join([*names, *([f"section {self.section!r}"] if self.section else [])]) or "the content"


_KINDS: Mapping[str, Literal["text", "items", "count"]] = MappingProxyType(
    {"text": "text", "list": "items", "counter": "count"}
)
_EMPTY: Mapping[str, Stored] = MappingProxyType({"text": "", "items": (), "count": 0, "value": None})


def leaves(schema: Schema, section: str = "") -> tuple[Leaf, ...]:
    """Returns the leaves of a document in the order of its schema; with `section` those of a simple schema in that section."""
    if isinstance(schema, CompositeSchema):
        return tuple(
            leaf for section in schema.sections for leaf in _simple(section.schema, section.name, read_only=section.read_only)
        )
    return tuple(_simple(schema, section, read_only=False))


def simple_schema(schema: Schema, section: str | None) -> tuple[SimpleSchema, str]:
    """Returns the schema of a section with its name; '' without a section. Raises `InvalidInput`."""
    if isinstance(schema, CompositeSchema):
        if section is None:
            raise InvalidInput(
                f"is one of {', '.join(one.name for one in schema.sections)}", path="section", advice="say which"
            )
        found = schema.section(section)
        return found.schema, found.name
    if section is not None:
        raise InvalidInput("{} isn't there: the block has no sections", section, path="section", advice="leave it out")
    return schema, ""


def _simple(schema: SimpleSchema, section: str, *, read_only: bool) -> Sequence[Leaf]:
    match schema:
        case TextSchema():
            return [Leaf(kind="text", section=section, schema=schema, read_only=read_only)]
        case ListSchema() | LogSchema():
            return [Leaf(kind="items", section=section, schema=schema, read_only=read_only)]
        case MapSchema():
            return [
                Leaf(
                    kind=_KINDS.get(field.type, "value"),
                    section=section,
                    field=field,
                    schema=schema,
                    read_only=read_only or field.read_only,
                )
                for field in schema.fields
            ]


def read_leaf(document: LoroDoc, leaf: Leaf) -> Stored:
    """Returns what a leaf holds."""
    match leaf.kind:
        case "text":
            return document.get_text(leaf.container).to_string()
        case "items":
            return tuple(map(str, document.get_movable_list(leaf.container).to_vec()))
        case "count":
            return round(document.get_counter(leaf.container).value)
        case "value":
            assert leaf.field is not None
            found = document.get_map(leaf.container).get(leaf.field.name)
            return None if found is None else cast("Any", found).value


def write_leaf(document: LoroDoc, leaf: Leaf, target: Any, scratch: Scratch) -> None:
    """Makes a leaf hold `target`, with as few operations as needed."""
    present = read_leaf(document, leaf)
    if same(present, target):
        return
    match leaf.kind:
        case "text":
            spliced(document.get_text(leaf.container), splices(str(present), target, scratch))
        case "items":
            _write_items(document.get_movable_list(leaf.container), list(present), target)  # type: ignore[arg-type]
        case "count":
            document.get_counter(leaf.container).increment(target - present)
        case "value":
            assert leaf.field is not None
            values = document.get_map(leaf.container)
            if target is None:
                values.delete(leaf.field.name)
            else:
                values.insert(leaf.field.name, target)


def empty(leaf: Leaf) -> Stored:
    """Returns what a leaf holds in an empty document."""
    return _EMPTY[leaf.kind]


def merged(leaf: Leaf, base: Any, ours: Any, theirs: Any, scratch: Scratch, *, yielding: bool = False) -> Any:
    """Returns what a leaf holds after both sides changed `base`. Of a single value, `theirs` stays where both changed it; of
    a text with `yielding` too."""
    match leaf.kind:
        case "text":
            return merged_text(base, ours, theirs, scratch, yielding=yielding)
        case "count":
            return theirs + ours - base
        case "value":
            return ours if same(theirs, base) else theirs
        case "items":
            sides = [{item_id(one): one for one in side} for side in (base, ours, theirs)]
            old, mine, others = sides
            order = merged_items(list(old), list(mine), list(others), scratch)
            chosen = (mine if one not in others or others[one] == old.get(one, others[one]) else others for one in order)
            return tuple((side if one in side else others)[one] for one, side in zip(order, chosen, strict=True))


def same(one: Stored, other: Stored) -> bool:
    """Whether two leaves hold the same: 1, 1.0 and True differ."""
    return one == other and type(one) is type(other)


def _write_items(items: Any, present: list[str], target: Sequence[str]) -> None:
    wanted = {item_id(one): one for one in target}
    reorder(items, [item_id(one) for one in present], list(wanted), wanted.__getitem__)
    stored = {item_id(one): one for one in present}
    for index, (id, one) in enumerate(wanted.items()):
        if stored.get(id, one) != one:
            items.set(index, one)


def item(id: str, *values: Any) -> str:
    """Returns an item as it is stored: JSON of its id, which stays when its values change, and its values."""
    return json.dumps([id, *values], ensure_ascii=False, separators=(",", ":"))


def item_id(stored: str) -> str:
    """Returns the id of a stored item. An item that can't be read is its own id."""
    try:
        return str(json.loads(stored)[0])
    except (ValueError, LookupError, TypeError):
        return stored
