"""Editing: applies mutations to the leaves of a document, after checking that its schema allows them.

What the leaves will hold is worked out in plain Python, and written into the document once, at the end: a thousand mutations of
one text are one difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from germane.errors import InvalidInput
from germane.kinds.blocks import mutation as m
from germane.kinds.blocks.content import NewId, check_items, check_required, listed_item, plain_row, stored_field, stored_value
from germane.kinds.blocks.field import MAX_COUNTER, Field, checked_text
from germane.kinds.blocks.leaf import Held, Key, Leaf, Stored, item, leaves, read_leaf, same, simple_schema, write_leaf
from germane.kinds.blocks.merge import Scratch
from germane.kinds.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, TextSchema
from germane.types.limits import BLOCK_TEXT, LIST_ITEMS, Limit

if TYPE_CHECKING:
    from loro import LoroDoc


_TextEdit: TypeAlias = m.SetText | m.AppendText | m.ReplaceText | m.InsertLines
_FieldEdit: TypeAlias = m.SetField | m.AppendToField | m.Increment
_ListEdit: TypeAlias = m.PushItem | m.InsertItem | m.UpdateItem | m.CheckItem | m.MoveItem | m.DeleteItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """Mutable: edits of one document, which `finish` writes. `at` and `by` are written into log entries; a `system` edit may
    write what is read-only."""

    document: LoroDoc
    schema: Schema
    scratch: Scratch
    new_id: NewId
    at: datetime | None = None
    by: str = ""
    system: bool = False
    _pending: dict[Key, tuple[Leaf, Stored]] = field(default_factory=dict, init=False)
    """What is to be written."""

    def apply(self, mutation: m.Mutation) -> None:
        """Applies one mutation. Raises `InvalidInput`, which says what doesn't fit."""
        if isinstance(mutation, m.SetValue) and mutation.section is None:
            self._set(self.schema, "", mutation.value)
            return
        schema, section = simple_schema(self.schema, mutation.section)
        if isinstance(mutation, m.SetValue):
            self._set(schema, section, mutation.value)
        elif isinstance(mutation, _TextEdit) and isinstance(schema, TextSchema):
            self._text(self._leaf(section), mutation)
        elif isinstance(mutation, _FieldEdit) and isinstance(schema, MapSchema):
            self._field(self._leaf(section, schema.field(mutation.field)), mutation)
        elif isinstance(mutation, _ListEdit) and isinstance(schema, ListSchema):
            self._list(self._leaf(section), schema, mutation)
        elif isinstance(mutation, m.AppendEntry) and isinstance(schema, LogSchema):
            self._log(self._leaf(section), schema, mutation.text)
        else:
            of = f"section {section!r}" if section else "the block"
            raise InvalidInput(f"{mutation.op} doesn't fit: {of} is a {schema.kind}")

    def write(self, leaf: Leaf, target: Stored) -> None:
        """Lets a leaf hold `target`. Raises `InvalidInput` where agents can't write it, and for a required field without a
        value."""
        self.check(leaf, target)
        self._pending[leaf.key] = leaf, target

    def finish(self) -> None:
        """Writes what the mutations came to into the document."""
        for leaf, target in self._pending.values():
            write_leaf(self.document, leaf, target, self.scratch)
        self._pending.clear()

    def held(self) -> Held:
        """Returns what each leaf holds after the mutations, written or not."""
        return {leaf.key: self._held(leaf) for leaf in leaves(self.schema)}

    def check(self, leaf: Leaf, target: Stored) -> None:
        """Raises `InvalidInput` where `write` would."""
        if leaf.read_only and not self.system:
            raise InvalidInput(f"{leaf.where} is read-only: only a system operation can change it")
        check_required(leaf, target)

    def _held(self, leaf: Leaf) -> Stored:
        pending = self._pending.get(leaf.key)
        return read_leaf(self.document, leaf) if pending is None else pending[1]

    def _leaf(self, section: str, field: Field | None = None) -> Leaf:
        key = (section, field.name if field else "")
        return next(leaf for leaf in leaves(self.schema) if leaf.key == key)

    def _set(self, schema: Schema, section: str, value: object) -> None:
        """Replaces the content of a section, or of the whole block. A composite's value may leave sections out."""
        own = [leaf for leaf in leaves(self.schema) if not section or leaf.section == section]
        held = {leaf.key: self._held(leaf) for leaf in own}
        if isinstance(schema, CompositeSchema):
            wanted = stored_value(schema, value, self.new_id, held)
            named = {str(name) for name in value} if isinstance(value, Mapping) else set()
            own = [leaf for leaf in own if leaf.section in named]
        else:
            wanted = stored_value(schema, value, self.new_id, held, section)
        changed = [leaf for leaf in own if not same(wanted[leaf.key], held[leaf.key])]
        for leaf in changed:
            if isinstance(leaf.schema, LogSchema) and held[leaf.key]:
                raise InvalidInput(f"{leaf.where} is a log and can't be replaced", advice="add entries with append_entry")
            self.check(leaf, wanted[leaf.key])
        for leaf in changed:
            self.write(leaf, wanted[leaf.key])

    def _text(self, leaf: Leaf, mutation: _TextEdit) -> None:
        present = str(self._held(leaf))
        match mutation:
            case m.SetText():
                target = mutation.text
            case m.AppendText():
                target = present + mutation.text
            case m.ReplaceText():
                target = _replaced(present, mutation.old, mutation.new, leaf.where)
            case m.InsertLines():
                target = _with_lines(present, mutation.line, mutation.text, leaf.where)
        _check_target(leaf, len(target), BLOCK_TEXT)
        self.write(leaf, target)

    def _field(self, leaf: Leaf, mutation: _FieldEdit) -> None:
        field = leaf.field
        assert field is not None
        present = self._held(leaf)
        target: Stored
        match mutation:
            case m.SetField():
                target = stored_field(field, mutation.value, self.new_id, present)
            case m.Increment():
                if field.type != "counter":
                    raise InvalidInput(
                        f"names {leaf.where}, no counter but a {field.type}", path="field", advice="use set_field"
                    )
                target = _count(present) + mutation.by
                if abs(target) > MAX_COUNTER:
                    raise InvalidInput(f"would bring {leaf.where} to {target}, beyond 2⁵³", path="by")
            case m.AppendToField() if isinstance(present, str) and field.type == "text":
                target = present + checked_text(mutation.value, "value")
                _check_target(leaf, len(target), BLOCK_TEXT)
            case m.AppendToField() if isinstance(present, tuple):
                (entry,) = field.checked([mutation.value], "value")
                _check_target(leaf, len(present) + 1, LIST_ITEMS)
                target = (*present, item(self.new_id(), entry))
            case _:
                raise InvalidInput(
                    f"names {leaf.where}, a {field.type}: only a text or a list can be appended to", path="field"
                )
        self.write(leaf, target)

    def _list(self, leaf: Leaf, schema: ListSchema, mutation: _ListEdit) -> None:
        held = self._held(leaf)
        rows = list(held) if isinstance(held, tuple) else []
        if isinstance(mutation, m.CheckItem | m.PushItem | m.InsertItem) and not schema.checkboxes and mutation.done:
            raise InvalidInput(
                f"has no place: {leaf.where} has no checkboxes", path="done", advice="leave it out, or change the schema"
            )
        match mutation:
            case m.PushItem() | m.InsertItem():
                index = _index(mutation.index, len(rows) + 1, leaf) if isinstance(mutation, m.InsertItem) else len(rows)
                check_items(schema, len(rows) + 1, leaf.where)
                value = listed_item(schema, mutation.value, "value")
                rows.insert(index, item(self.new_id(), value, mutation.done))
            case m.UpdateItem():
                index = _index(mutation.index, len(rows), leaf)
                id, _, *rest = plain_row(rows[index])
                rows[index] = item(id, listed_item(schema, mutation.value, "value"), *rest)
            case m.CheckItem():
                if not schema.checkboxes:
                    raise InvalidInput(f"{leaf.where} has no checkboxes", advice="change the schema first")
                index = _index(mutation.index, len(rows), leaf)
                id, value, *_ = plain_row(rows[index])
                rows[index] = item(id, value, mutation.done)
            case m.MoveItem():
                index, to = _index(mutation.index, len(rows), leaf), _index(mutation.to, len(rows), leaf, "to")
                self.check(leaf, held)
                if leaf.key not in self._pending:
                    self.document.get_movable_list(leaf.container).mov(index, to)  # this item moves, and none beside it
                    return
                rows.insert(to, rows.pop(index))
            case m.DeleteItem():
                del rows[_index(mutation.index, len(rows), leaf)]
        self.write(leaf, tuple(rows))

    def _log(self, leaf: Leaf, schema: LogSchema, text: str) -> None:
        held = self._held(leaf)
        rows = held if isinstance(held, tuple) else ()
        at = None if self.at is None else self.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        kept = rows[max(0, len(rows) + 1 - schema.max_entries) :]
        self.write(leaf, (*kept, item(self.new_id(), text, at, self.by)))


def _check_target(leaf: Leaf, size: int, limit: Limit) -> None:
    """Raises `InvalidInput` where the leaf would hold more than the limit."""
    if size > limit.maximum:
        problem = f"{leaf.where} would have {size:,} {limit.unit}, {limit.maximum:,} are allowed"
        raise InvalidInput(problem, advice=limit.instead)


def _count(stored: Stored) -> int:
    return stored if isinstance(stored, int) else 0


def _replaced(present: str, old: str, new: str, where: str) -> str:
    if not old:
        raise InvalidInput("is empty", path="old", advice="give the text to replace")
    first = present.find(old)
    if first < 0:
        raise InvalidInput(f"doesn't occur in {where}", path="old", advice="copy it exactly, with its white space")
    if present.find(old, first + 1) >= 0:
        raise InvalidInput(f"occurs more than once in {where}", path="old", advice="give more of what surrounds it")
    return present[:first] + new + present[first + len(old) :]


def _with_lines(present: str, line: int, text: str, where: str) -> str:
    """Returns the text with lines after line `line`. An empty text has no line."""
    count = present.count("\n") + (present[-1:] not in ("\n", ""))  # what ends with a line break has no line after it
    if line > count:
        raise InvalidInput(f"{line} doesn't exist: {where} has {count} lines, 0 is its beginning", path="line")
    if not text.endswith("\n") and (line < count or present.endswith("\n")):
        text += "\n"
    start = sum(len(one) + 1 for one in present.split("\n", line)[:line])
    if start > len(present):  # after a last line without a line break
        return f"{present}\n{text}"
    return present[:start] + text + present[start:]


def _index(index: int, count: int, leaf: Leaf, path: str = "index") -> int:
    if index >= count:
        raise InvalidInput(f"{index} doesn't exist: {leaf.where} has {count} places, counted from 0", path=path)
    return index
