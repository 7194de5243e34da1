"""Line format: writes a value as the JSON object of a line, and reads it back with checks, by the annotations of its fields.

A `LineFormat` is made of a class and a table of exceptions. Each field of the class stands in the line under its own name, and
its annotation says how it is read: a text has at most 256 characters, a whole number isn't negative, a share is from 0 to 1, a
time is in UTC. A field with a default may be left out. A field that is added to a class is so written and read without a
further line of code.

Values are written by `types/codec.py`. Its `decode` isn't used here: a file may come from anywhere, so each field has a limit,
and errors name the field and its place and hold no text of the file, but for a name that should be one of a few. Reading takes
time linear in the line.
"""

from __future__ import annotations

import types
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from germane.errors import InvalidInput
from germane.kinds.memories.fields import check_provenance, moment
from germane.kinds.messages.prepared import slim
from germane.transfer.contents import Owner
from germane.types.candidate import Provenance
from germane.types.checks import (
    check_entries,
    check_flag,
    check_number,
    check_one_of,
    check_text,
    check_type,
    check_whole_number,
)
from germane.types.codec import encode
from germane.types.limits import ID, MESSAGE_TEXT, REFERENCES, REMARK, Limit
from germane.types.nested_data import bounded
from germane.types.scope import Scope

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Read = Callable[[str, Any], Any]
"""Returns the value of a field from its name and its JSON value. Raises `InvalidInput`, which names the field."""
Write = Callable[[Any], Any]
Complete = Callable[[dict[str, Any]], None]
"""Fills in what a line leaves to other fields, and raises `InvalidInput` where fields contradict each other."""

MAX_COUNT = (1 << 53) - 1
"""The largest whole number that every reader of JSON keeps exact."""
_MAX_HASH = 1 << 63
_PLAIN = (str, str | None, int, int | None, bool)
_NOBODY = Owner(None, None, None)


class As(NamedTuple):
    """How one field stands in a line, where its annotation doesn't say so: its name there, the limit of its text, and the
    functions that read and write it. One that is `omitted` isn't written while it is empty."""

    name: str = ""
    limit: Limit | None = None
    read: Read | None = None
    write: Write | None = None
    omitted: bool = False


class BesideFormat(Protocol[T_co]):
    """The format of a value whose fields stand beside those of the value that has it."""

    def take(self, line: dict[str, Any], owner: Owner) -> T_co:
        """Removes the value's fields from the line, and returns the value. Raises `InvalidInput`."""

    def write(self, value: Any) -> dict[str, Any]: ...


class _Field(NamedTuple):
    attribute: str
    name: str
    read: Read
    write: Write
    omitted: bool


class LineFormat(Generic[T]):
    """How the values of one class stand in a line. `what` names such a value in errors.

    `fields` are the exceptions, by the names of the class. `outside` are fields that aren't in the line, each with its value;
    those in `owned` are the owner's. `left_out` are fields that keep their default. `beside` are fields whose own fields stand
    beside the others. `needed` are fields that a line must have although the class has a default; `defaults` those that a line
    may leave out although the class has none; `derived` those that `complete` then fills in. `order` are the names that come
    first in a line, in their order; the others follow in the order of the class.
    """

    def __init__(
        self,
        kind: type[T],
        what: str,
        *,
        fields: Mapping[str, As] | None = None,
        outside: Mapping[str, Any] | None = None,
        owned: Collection[str] = (),
        left_out: Collection[str] = (),
        beside: Mapping[str, BesideFormat[Any]] | None = None,
        needed: Collection[str] = (),
        defaults: Mapping[str, Any] | None = None,
        derived: Collection[str] = (),
        complete: Complete | None = None,
        order: str = "",
    ) -> None:
        self.kind, self._what, self._owned, self._complete = kind, what, owned, complete
        self._outside, self._beside = outside or {}, beside or {}
        self._values = {**self._outside, **(defaults or {})}
        self._order = order.split()
        hints, usual, exceptions = get_type_hints(kind), _defaults(kind), fields or {}
        apart = {*self._outside, *owned, *left_out, *self._beside}
        self._fields = [
            _field(name, hint, exceptions.get(name, As()), may_be_empty=usual.get(name) == "")
            for name, hint in hints.items()
            if name not in apart
        ]
        self._by_name = {field.name: field for field in self._fields}
        optional = {*usual, *self._values, *derived} - {*needed}
        self._needed = {field.attribute: field.name for field in self._fields if field.attribute not in optional}

    def write(self, value: T) -> dict[str, Any]:
        """Returns the fields of the value's line."""
        line: dict[str, Any] = {}
        for attribute, inner in self._beside.items():
            line |= inner.write(getattr(value, attribute))
        for attribute, name, _, write, omitted in self._fields:
            written = write(getattr(value, attribute))
            if written or not omitted:
                line[name] = written
        return {**{name: line[name] for name in self._order}, **line} if self._order else line

    def read(self, line: Any, owner: Owner = _NOBODY) -> T:
        """Returns the value in a line. Raises `InvalidInput` for a field that is missing, unknown or wrong."""
        left = dict(an_object(self._what, line))
        found = self.take(left, owner)
        for name in sorted(map(str, left)):
            said = f"{self._what} has a field {{}} that this germane doesn't know"
            raise InvalidInput(said, name, advice="upgrade germane, or remove it")
        return found

    def take(self, line: dict[str, Any], owner: Owner) -> T:
        """Removes the value's fields from the line, and returns the value. Raises `InvalidInput`."""
        values = {**self._values, **{name: getattr(owner, name) for name in self._owned}}
        for attribute, inner in self._beside.items():
            values[attribute] = inner.take(line, owner)
        for name in [name for name in line if name in self._by_name]:
            field = self._by_name[name]
            values[field.attribute] = field.read(name, line.pop(name))
        for attribute, name in self._needed.items():
            if attribute not in values:
                raise InvalidInput(f"{self._what} lacks its {name}")
        if self._complete is not None:
            self._complete(values)
        return self.kind(**values)


def _defaults(kind: Any) -> dict[str, Any]:
    """Returns the default of each field that has one; of one that is made anew each time, None."""
    if not is_dataclass(kind):
        return dict(kind._field_defaults)
    known = [field for field in fields(kind) if field.default is not MISSING or field.default_factory is not MISSING]
    return {field.name: None if field.default is MISSING else field.default for field in known}


def _field(attribute: str, hint: Any, given: As, *, may_be_empty: bool) -> _Field:
    read = given.read or reader(hint, given.limit or ID, may_be_empty=may_be_empty)
    return _Field(attribute, given.name or attribute, read, given.write or _writer(hint), given.omitted)


def _writer(hint: Any) -> Write:
    """Returns `encode`, or for the annotations that nearly all fields have what does the same sooner."""
    if get_origin(hint) is Literal or hint in _PLAIN:
        return lambda value: value
    if hint in (datetime, datetime | None):
        return lambda value: None if value is None else value.isoformat()
    return list if hint == tuple[str, ...] else encode


def reader(hint: Any, limit: Limit = ID, *, may_be_empty: bool = False) -> Read:
    """Returns what reads a field with this annotation. Raises `TypeError` for one that only a function of its own reads."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) and len(inner) == 2 and types.NoneType in inner:
        only = reader(next(one for one in inner if one is not types.NoneType), limit)
        return lambda name, value: None if value is None else only(name, value)
    if origin is Literal:
        return one_of(*inner)
    if hint is str:
        return text(limit, empty=may_be_empty)
    if hint == tuple[str, ...]:
        return strings(REFERENCES, limit)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return json_object
    try:
        return _READERS[hint]
    except (KeyError, TypeError):
        raise TypeError(f"a line has no form of its own for {hint}: give a function that reads it") from None


# Readers of single fields.


def an_object(name: str, value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = check_type(name, value, Mapping, "an object")
    return found


def text(limit: Limit, *, empty: bool = False, valid: bool = True) -> Read:
    """A text within the limit: one with a character at least, unless `empty`, and without lone surrogates, if `valid`."""

    def read_text(name: str, value: Any) -> str:
        found = check_text(name, value, limit, valid=valid)
        if not found and not empty:
            raise InvalidInput("is empty", path=name)
        return found

    return read_text


def strings(limit: Limit, each: Limit) -> Read:
    return lambda name, value: check_entries(name, value, limit, each)


def session(name: str, value: Any) -> str:
    """The caller's id of a session."""
    return Scope(session=text(ID)(name, value)).session or ""


def whole(minimum: int, maximum: int) -> Read:
    return lambda name, value: check_whole_number(name, value, minimum, maximum)


def one_of(*allowed: str) -> Read:
    return lambda name, value: check_one_of(name, value, allowed)


def entries(each: Read, maximum: int) -> Read:
    """A list of at most `maximum` entries, which `each` reads. An error names the place of the entry."""

    def read_entries(name: str, value: Any) -> tuple[Any, ...]:
        check_type(name, value, list, "a list")
        if len(value) > maximum:
            raise InvalidInput(f"has {len(value):,} entries, {maximum:,} are allowed", path=name)
        return tuple(each(f"{name}[{index}]", one) for index, one in enumerate(value))

    return read_entries


def pairs(first: Read, second: Read, maximum: int) -> Read:
    """A list of lists of two."""

    def read_pair(name: str, value: Any) -> tuple[Any, Any]:
        if not isinstance(value, list) or len(value) != 2:
            raise InvalidInput("must be a list of two", path=name)
        return first(f"{name}[0]", value[0]), second(f"{name}[1]", value[1])

    return entries(read_pair, maximum)


def objects(form: LineFormat[Any], maximum: int = MAX_COUNT) -> As:
    """A list of objects of one format."""

    def read_object(name: str, value: Any) -> Any:
        try:
            return form.read(value)
        except InvalidInput as error:
            raise error.within(name) from None

    return As(read=entries(read_object, maximum), write=lambda values: list(map(form.write, values)))


def one_object(form: LineFormat[Any], *, or_null: bool = False) -> As:
    """An object of a format; None stands for null, where that may be."""
    return As(
        read=lambda _, value: None if value is None and or_null else form.read(value),
        write=lambda value: None if value is None else form.write(value),
    )


def provenance(call: Limit) -> Read:
    """A provenance; `call` is the limit of a tool call's id."""

    def read_provenance(name: str, value: Any) -> Provenance:
        given = dict(an_object(name, value))
        call_id = given.pop("tool_call_id", None)
        for unknown in sorted(map(str, given.keys() - {field.name for field in fields(Provenance)})):
            raise InvalidInput("has a field {} that this germane doesn't know", unknown, path=name)
        found = check_provenance(Provenance(**given))
        return found if call_id is None else replace(found, tool_call_id=check_text(f"{name}.tool_call_id", call_id, call))

    return read_provenance


def json_object(name: str, value: Any) -> dict[str, Any]:
    """An object of any fields, as it is stored."""
    bounded(name, an_object(name, value))
    return slim(value)


content_hash = whole(-_MAX_HASH, _MAX_HASH - 1)


def _time(name: str, value: Any) -> datetime:
    return moment(name, check_text(name, value, REMARK), "UTC")


def data(name: str, value: Any) -> bytes:
    """Bytes in base64."""
    try:
        return b64decode(check_text(name, value, MESSAGE_TEXT), validate=True)
    except (Base64Error, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput("must be bytes in base64", path=name) from None


_READERS: Mapping[Any, Read] = types.MappingProxyType(
    {
        bool: check_flag,
        bytes: data,
        datetime: _time,
        float: lambda name, value: check_number(name, value, 0, 1),
        int: whole(0, MAX_COUNT),
        Provenance: provenance(ID),
    }
)
