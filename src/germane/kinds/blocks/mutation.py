"""Mutation: each way to change the content of a block, as a value; their JSON, and what each operation on a block needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar, get_args

from germane.errors import InvalidInput, UnknownName
from germane.kinds.blocks.field import MAX_COUNTER, checked_name, checked_text
from germane.kinds.blocks.permission import Needs
from germane.types.checks import check_flag, check_table, check_whole_number
from germane.types.codec import tagged
from germane.types.nested_data import bounded

_MAX_POSITION = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SetText:
    """Replaces the whole text. What stays the same isn't written again."""

    op: ClassVar[str] = "set_text"
    needs: ClassVar[Needs] = "overwrite"
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendText:
    """Adds to the end of the text, as it is: without a line break between."""

    op: ClassVar[str] = "append_text"
    needs: ClassVar[Needs] = "append"
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceText:
    """Replaces `old`, which must occur exactly once, with `new`."""

    op: ClassVar[str] = "replace_text"
    needs: ClassVar[Needs] = "overwrite"
    old: str
    new: str = ""
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertLines:
    """Inserts lines after line `line`; 0 is the beginning of the text."""

    op: ClassVar[str] = "insert_lines"
    needs: ClassVar[Needs] = "overwrite"
    line: int
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetField:
    """Sets a field of a map; None gives it back its default."""

    op: ClassVar[str] = "set_field"
    needs: ClassVar[Needs] = "overwrite"
    field: str
    value: Any
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendToField:
    """Adds to a field: text to the end of a text, one entry to a list."""

    op: ClassVar[str] = "append_to_field"
    needs: ClassVar[Needs] = "append"
    field: str
    value: Any
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Increment:
    """Adds a whole number, which may be negative, to a counter. Increments from several editors add up."""

    op: ClassVar[str] = "increment"
    needs: ClassVar[Needs] = "overwrite"
    field: str
    by: int = 1
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushItem:
    """Adds an item to the end of a list."""

    op: ClassVar[str] = "push_item"
    needs: ClassVar[Needs] = "append"
    value: Any
    done: bool = False
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertItem:
    """Inserts an item before the one at `index`, which counts from 0."""

    op: ClassVar[str] = "insert_item"
    needs: ClassVar[Needs] = "overwrite"
    index: int
    value: Any
    done: bool = False
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateItem:
    """Replaces the value of an item; whether it is done stays."""

    op: ClassVar[str] = "update_item"
    needs: ClassVar[Needs] = "overwrite"
    index: int
    value: Any
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckItem:
    """Sets whether an item of a list with checkboxes is done."""

    op: ClassVar[str] = "check_item"
    needs: ClassVar[Needs] = "overwrite"
    index: int
    done: bool = True
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveItem:
    """Moves an item, so that its index is `to`."""

    op: ClassVar[str] = "move_item"
    needs: ClassVar[Needs] = "overwrite"
    index: int
    to: int
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteItem:
    """Removes an item from a list."""

    op: ClassVar[str] = "delete_item"
    needs: ClassVar[Needs] = "overwrite"
    index: int
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendEntry:
    """Adds an entry to a log. Its time and author aren't part of it: whoever applies it says them."""

    op: ClassVar[str] = "append_entry"
    needs: ClassVar[Needs] = "append"
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetValue:
    """Replaces the content by a plain value of the schema's shape, as `BlockDocument.value` returns it. A log can't be
    replaced."""

    op: ClassVar[str] = "set_value"
    needs: ClassVar[Needs] = "overwrite"
    value: Any
    section: str | None = None


Mutation = (
    SetText
    | AppendText
    | ReplaceText
    | InsertLines
    | SetField
    | AppendToField
    | Increment
    | PushItem
    | InsertItem
    | UpdateItem
    | CheckItem
    | MoveItem
    | DeleteItem
    | AppendEntry
    | SetValue
)
MUTATIONS: Mapping[str, type[Mutation]] = MappingProxyType({one.op: one for one in get_args(Mutation)})
"""The mutations by the name that `op` has in JSON."""
tagged("op", MUTATIONS)
OPERATIONS: Mapping[str, Needs] = MappingProxyType(
    {
        **{op: one.needs for op, one in MUTATIONS.items()},
        "rewrite": "overwrite",
        "undo": "overwrite",
        "redo": "overwrite",
        "pin": "overwrite",
        "describe": "overwrite",
        "change_type": "overwrite",
        "change_schema": "delete",
        "change_limit": "delete",
        "change_permission": "delete",
        "share": "delete",
        "unshare": "delete",
        "delete": "delete",
        "restore": "delete",
    }
)
"""What each operation on a block needs, by its name: the mutations, and those on the block itself."""


def parse_mutation(value: object, path: str = "mutation") -> Mutation:
    """Returns a mutation from its JSON, such as `{"op": "set_text", "text": "Hello"}`. Raises `InvalidInput`, in which `path`
    names the mutation."""
    given = dict(check_table(path, value, "an object such as {'op': 'set_text', 'text': …}"))
    op = given.pop("op", None)
    if not isinstance(op, str) or op not in MUTATIONS:
        raise UnknownName("can't be {}", op, path=f"{path}.op", advice=f"it is one of {', '.join(MUTATIONS)}")
    known = {one.name: one for one in fields(MUTATIONS[op])}
    for name in given:
        if name not in known:
            raise UnknownName("has no {}", name, path=path, advice=f"{op} has {', '.join(known)}")
    for name, one in known.items():
        if name not in given and one.default is MISSING:
            raise InvalidInput(f"needs {name} for {op}", path=path)
    return checked_mutation(MUTATIONS[op](**given), path)


def as_dict(mutation: Mutation) -> dict[str, Any]:
    """Returns the mutation as JSON; `parse_mutation` reads it back."""
    given = {one.name: getattr(mutation, one.name) for one in fields(mutation)}
    return {"op": mutation.op} | {name: value for name, value in given.items() if name != "section" or value is not None}


def checked_mutation(mutation: object, path: str = "mutation") -> Mutation:
    """Returns a mutation after checking the types of its values. Whether they fit a block is checked when it is applied. Raises
    `InvalidInput`, in which `path` names the mutation."""
    if not isinstance(mutation, Mutation):
        raise InvalidInput(
            f"must be a {' or '.join(one.__name__ for one in MUTATIONS.values())}, not {{}}", mutation, path=path
        )
    for one in fields(mutation):
        _CHECKS[one.name](getattr(mutation, one.name), f"{path}.{one.name}")
    return mutation


def _position(value: object, where: str) -> None:
    check_whole_number(where, value, 0, _MAX_POSITION)


def _step(value: object, where: str) -> None:
    check_whole_number(where, value, -MAX_COUNTER, MAX_COUNTER)


def _flag(value: object, where: str) -> None:
    check_flag(where, value)


def _section(value: object, where: str) -> None:
    if value is not None:
        checked_name(value, where)


def _json(value: object, where: str) -> None:
    bounded(where, value)


_CHECKS: Mapping[str, Callable[[object, str], object]] = MappingProxyType(
    {
        "text": checked_text,
        "old": checked_text,
        "new": checked_text,
        "field": checked_name,
        "value": _json,
        "section": _section,
        "line": _position,
        "index": _position,
        "to": _position,
        "by": _step,
        "done": _flag,
    }
)
"""The check of each value, by its name: a name has one meaning in all mutations."""
