"""Field: one named value of a map block: its type, its default, and the check of the values that it takes."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, get_args

from germane.errors import InvalidInput, UnknownName
from germane.text.normal import normalised, unpiled
from germane.types.checks import check_flag, check_size, check_table, check_text, check_type, check_unicode, check_whole_number
from germane.types.limits import BLOCK_TEXT, LIST_ITEMS
from germane.types.nested_data import bounded

FieldType = Literal["text", "number", "boolean", "list", "timestamp", "counter"]
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
MAX_COUNTER = 2**53
"""A counter stays between ±2⁵³, where each step of one is exact."""
_MAX_WHOLE = 2**63
"""Whole numbers are stored in 64 bits."""
_MAX_LEVELS = 8
"""Levels of an item that is an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a map. A field without a value has its default; a required field without a default must have a value.
    Agents can't write a field that is `read_only`, system operations can. Raises `InvalidInput` for what can't be a field."""

    name: str
    type: FieldType = "text"
    required: bool = False
    default: Any = None
    read_only: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name, "name"))
        if not isinstance(self.type, str) or self.type not in FIELD_TYPES:
            raise UnknownName("can't be {}", self.type, path="type", advice=f"the types are {', '.join(FIELD_TYPES)}")
        for flag in ("required", "read_only"):
            check_flag(flag, getattr(self, flag))
        checked_text(self.description, "description")
        if self.default is not None:
            object.__setattr__(self, "default", self.checked(self.default, "default"))

    @property
    def where(self) -> str:
        """The words that name the field in an error."""
        return f"field {self.name!r}"

    def checked(self, value: object, path: str) -> Any:
        """Returns a value as it is stored. Raises `InvalidInput` for a value that isn't of the field's type."""
        return checked_value(self.type, value, path)

    def as_dict(self) -> dict[str, Any]:
        """Returns the field as JSON, without what is left at its default."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("name", "type")}
        plain = {key: _plain(value) for key, value in given.items() if value not in (None, False, "") or key == "default"}
        if self.default is None:
            del plain["default"]
        return {"name": self.name, "type": self.type, **plain}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def checked_value(type: FieldType, value: object, where: str) -> Any:
    """Returns a value of a field as it is stored: times become ISO 8601 in UTC, lists become tuples. Raises `InvalidInput`."""
    return _CHECKS[type](value, where)


def checked_text(value: object, where: str) -> str:
    """Returns a string that can be stored. Raises `InvalidInput`."""
    return check_text(where, value, BLOCK_TEXT)


def checked_item(value: object, where: str) -> Any:
    """Returns an item of a list that is an object: a dict of JSON values with string keys, copied. Raises `InvalidInput`."""
    item = check_table(where, value, "an object")
    bounded(where, item)
    return _json(item, where, _MAX_LEVELS)


def _json(value: object, where: str, levels: int) -> Any:
    if not levels:
        raise InvalidInput(f"is nested deeper than {_MAX_LEVELS} levels", path=where, advice="flatten it")
    match value:
        case None | bool():
            return value
        case str():
            return checked_text(value, where)
        case int() | float():
            return _number(value, where)
        case list() | tuple():
            return [_json(one, f"{where}[{index}]", levels - 1) for index, one in enumerate(value)]
        case Mapping():
            return {checked_text(key, where): _json(one, where, levels - 1) for key, one in value.items()}
    raise InvalidInput("holds {}", value, path=where, advice="use JSON values")


def _number(value: object, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput("must be a number, not {}", value, path=where)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput("must be a finite number, not {}", value, path=where)
        return float(value)
    if not -_MAX_WHOLE <= value < _MAX_WHOLE:
        raise InvalidInput("has more than 64 bits: {}", value, path=where, advice="give it as text")
    return int(value)


def _counter(value: object, where: str) -> int:
    return int(check_whole_number(where, value, -MAX_COUNTER, MAX_COUNTER))


def _flag(value: object, where: str) -> bool:
    return check_flag(where, value)


def _timestamp(value: object, where: str) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput("isn't a time", path=where, advice="give ISO 8601 such as 2026-05-08T14:30:00Z") from None
    if not isinstance(value, datetime):
        raise InvalidInput("must be a time in ISO 8601, not {}", value, path=where)
    if value.tzinfo is None:
        raise InvalidInput("has no zone", path=where, advice="end it with Z or with an offset such as +02:00")
    try:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        raise InvalidInput("lies outside of the years 1 to 9999 in UTC", path=where) from None


def _list(value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidInput("must be a list, not {}", value, path=where)
    check_size(where, len(value), LIST_ITEMS)
    return tuple(_entry(one, f"{where}[{index}]") for index, one in enumerate(value))


def _entry(value: object, where: str) -> Any:
    """An entry of a field that is a list: text, a number or a boolean."""
    if isinstance(value, str):
        return checked_text(value, where)
    return value if isinstance(value, bool) else _number(value, where)


_CHECKS: Mapping[FieldType, Callable[[object, str], Any]] = MappingProxyType(
    {
        "text": checked_text,
        "number": _number,
        "boolean": _flag,
        "list": _list,
        "timestamp": _timestamp,
        "counter": _counter,
    }
)


# Label: what the label of a block, and the name of a field or a section, may be.


LABEL_BYTES = 255
"""Maximum length of a label in UTF-8."""
NAME_CHARACTERS = 64
"""Maximum length of the name of a field or a section."""
_INVISIBLE = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that nobody sees, or that change how others are shown."""


def checked_label(value: object, argument: str = "label") -> str:
    """Returns a label in NFC. A label has 1 to 255 bytes of UTF-8, in segments between slashes. Each segment begins and ends
    with a visible character, isn't `.` or `..`, and holds no control or format character and no white space but the space.
    Case counts. Raises `InvalidInput`, which says what to change."""
    text = _whole_text(value, argument, LABEL_BYTES)
    if len(text.encode()) > LABEL_BYTES:
        raise InvalidInput(
            f"has {len(text.encode())} bytes of UTF-8, {LABEL_BYTES} are allowed", path=argument, advice="shorten it"
        )
    for segment in text.split("/"):
        _check_segment(segment, argument)
    return text


def label_key(value: object, argument: str = "label") -> str:
    """Returns the key under which a block with this label is stored and looked up: equal for labels that differ only in how
    their accents are composed. Raises `InvalidInput` for what can't be a label."""
    return checked_label(value, argument)


def folded_segment(segment: str) -> str:
    """Returns a segment of a label with look-alikes as the characters that they stand for (NFKC): a full-width `／` as `/`."""
    return normalised(segment, "NFKC")


def checked_name(value: object, argument: str) -> str:
    """Returns the name of a field or a section in NFC: at most 64 characters, which are letters, digits, `_`, `-` and spaces
    inside, in any script. So a name can't be taken for the structure that a rendered block writes around it. Raises
    `InvalidInput`."""
    text = _whole_text(value, argument, NAME_CHARACTERS)
    if text[0] in "- " or text[-1] == " " or unicodedata.category(text[0])[0] == "M":
        raise InvalidInput("{} must begin with a letter, a digit or _, and must not end with a space", text, path=argument)
    for character in text:
        if character not in "_- " and unicodedata.category(character)[0] not in "LMN":
            raise InvalidInput(
                f"{{}} holds {_named(character)}", text, path=argument, advice="use letters, digits, _, - and spaces"
            )
    return text


def _whole_text(value: object, argument: str, longest: int) -> str:
    """Returns a string of 1 to `longest` characters in NFC."""
    given = check_type(argument, value, str, "a string")
    if not given:
        raise InvalidInput("is empty", path=argument, advice="give it at least one character")
    if len(given) > 4 * longest:  # far too long in any normal form
        raise InvalidInput(f"has {len(given):,} characters, {longest} are allowed", path=argument, advice="shorten it")
    check_unicode(argument, given)
    if unpiled(given) != given:
        raise InvalidInput("piles up more than 30 combining marks", path=argument, advice="remove them")
    text = normalised(given)
    if len(text) > longest:
        raise InvalidInput(f"has {len(text):,} characters, {longest} are allowed", path=argument, advice="shorten it")
    return text


def _check_segment(segment: str, argument: str) -> None:
    if not segment:
        raise InvalidInput(
            "has an empty segment", path=argument, advice="remove the / at its beginning or end, or one of two in a row"
        )
    if segment in (".", ".."):
        raise InvalidInput("has the segment {}", segment, path=argument, advice="write the whole label, without . and ..")
    for character in segment:
        category = unicodedata.category(character)
        if category in _INVISIBLE or (category == "Zs" and character != " "):
            raise InvalidInput(
                f"holds {_named(character)}, which can't be seen", path=argument, advice="remove it or write a space"
            )
    if segment[0] == " " or segment[-1] == " ":
        raise InvalidInput("has a segment with a space at its beginning or end", path=argument, advice="remove the space")
    if unicodedata.category(segment[0])[0] == "M":
        raise InvalidInput(
            f"has a segment that begins with the combining mark {_named(segment[0])}", path=argument, advice="remove it"
        )


def _named(character: str) -> str:
    return f"U+{ord(character):04X}"
