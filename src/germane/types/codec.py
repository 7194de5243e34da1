"""Codec: values as JSON values and back, by the annotations of their classes. The services, the clients and the command use it.

A dataclass becomes an object with its fields, but for fields with `repr=False` (vectors, functions). A named tuple becomes a
list of its values, or an object where it has more than four fields or a default for each. A time becomes ISO 8601 text, bytes
become base64, infinities become `"inf"` and `"-inf"`, a `Hash` becomes 16 hexadecimal digits. Objects of classes that `tagged`
was called with name their class under a key of their own; where a union's other classes can't be told apart by their fields,
the object has the class's name under `$type`.

Encoding and decoding take time linear in the value. For each annotation a decoder is made once and kept. `json_text.py` reads
and writes the JSON itself and bounds it; what a caller may send beyond that, the called method checks.
"""

from __future__ import annotations

import math
import types
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from germane.errors import InvalidInput
from germane.types.limits import DIGITS

T = TypeVar("T")
Encoder = Callable[[Any], Any]
Decoder = Callable[[Any], Any]

Hash = Annotated[int, "hexadecimal"]
"""A whole number of 64 bits with a sign. JavaScript and other readers of JSON lose bits of such a number."""
_HASH_BITS, _HASH_FORM = 64, "16 hexadecimal digits"

TYPE = "$type"
"""The key of an object that names its class, where its fields don't tell."""
_MAX_LIST_FIELDS = 4
"""Fields of a named tuple that is written as a list."""


def encode(value: Any, kind: Any = Any, *, other: Encoder = str) -> Any:
    """Returns `value` as a JSON value. `kind` is the annotation under which it will be decoded, needed for unions only. `other`
    makes a JSON value of what is of an unknown type."""
    return _encoder(kind)(value, other)


@overload
def decode(kind: type[T], encoded: Any, where: str = "", *, lenient: bool = False) -> T: ...
@overload
def decode(kind: Any, encoded: Any, where: str = "", *, lenient: bool = False) -> Any: ...
def decode(kind: Any, encoded: Any, where: str = "", *, lenient: bool = False) -> Any:
    """Returns an instance of `kind` from the JSON value `encoded`, as `encode` makes it. `where` is the place that the message
    of an `InvalidInput` names. With `lenient`, unknown fields are left out and unknown names of a `Literal` are taken: a newer
    germane may write them. Raises `InvalidInput` for a wrong type, a missing field, and without `lenient` an unknown one."""
    try:
        return _decoder(kind, lenient)(encoded)
    except _Mismatch as error:
        raise error.at(where or getattr(kind, "__name__", "value").lower()) from None


def tagged(key: str, classes: Mapping[str, type]) -> None:
    """Has objects of these classes name their class under `key`, by the names of the mapping."""
    for name, kind in classes.items():
        kind.__json_tag__ = (key, name)  # type: ignore[attr-defined]


def tag_of(kind: Any) -> tuple[str, str] | None:
    """Returns the key and the name under which objects of a class name it, None for other classes."""
    found: tuple[str, str] | None = getattr(kind, "__json_tag__", None)
    return found


# Encoding is directed by the value: for each class an encoder is made once and kept. Only a union needs its annotation: it
# decides whether the class has to be named.


_ValueEncoder = Callable[[Any, Encoder], Any]
_AS_IT_IS = frozenset({str, int, bool, type(None)})


def _encode(value: Any, other: Encoder) -> Any:
    kind: Any = type(value)
    return value if kind in _AS_IT_IS else _class_encoder(kind)(value, other)


@lru_cache(maxsize=1024)
def _class_encoder(kind: Any) -> _ValueEncoder:
    """Returns the function that encodes values of a class."""
    if kind is float:
        return lambda value, other: value if math.isfinite(value) else str(value)
    if is_dataclass(kind) or (issubclass(kind, tuple) and is_record(kind)):
        return _object_encoder(kind)
    if issubclass(kind, Mapping):
        return lambda value, other: {str(key): _encode(entry, other) for key, entry in value.items()}
    if issubclass(kind, list | tuple):
        return lambda value, other: [_encode(entry, other) for entry in value]
    if issubclass(kind, AbstractSet):
        return lambda value, other: sorted((_encode(entry, other) for entry in value), key=str)
    if issubclass(kind, date):
        return lambda value, other: value.isoformat()
    if issubclass(kind, bytes | bytearray):
        return lambda value, other: b64encode(value).decode()
    if issubclass(kind, str | int | float):
        return lambda value, other: value
    return _encode_other


def _encode_other(value: Any, other: Encoder) -> Any:
    """Encodes what is of an unknown class. An object may stand for one of another class, as those of wrapt do."""
    kind = value.__class__
    return other(value) if kind is type(value) or _class_encoder(kind) is _encode_other else _class_encoder(kind)(value, other)


def _object_encoder(kind: Any) -> _ValueEncoder:
    """Returns the encoder of a dataclass or a named tuple. It looks first at the fields whose annotation decides how they are
    written, then at all values that JSON has nothing for."""
    encoders = _field_encoders(kind)
    names = tuple(name for name, _ in encoders)
    special = tuple((name, encoder) for name, encoder in encoders if encoder is not _encode)
    plain = tuple(name for name, encoder in encoders if encoder is _encode)
    tag = tag_of(kind)

    def encode_object(value: Any, other: Encoder) -> Any:
        encoded = {name: getattr(value, name) for name in names}
        for name, encoder in special:
            encoded[name] = encoder(encoded[name], other)
        for name in plain:
            found: Any = type(encoded[name])
            if found not in _AS_IT_IS:
                encoded[name] = _class_encoder(found)(encoded[name], other)
        return encoded if tag is None else {tag[0]: tag[1], **encoded}

    return encode_object


@lru_cache(maxsize=1024)
def _field_encoders(kind: Any) -> tuple[tuple[str, _ValueEncoder], ...]:
    hints = _hints(kind)
    names = kind._fields if issubclass(kind, tuple) else [field.name for field in fields(kind) if field.repr]
    return tuple((name, _encoder(hints[name])) for name in names)


@lru_cache(maxsize=1024)
def _encoder(kind: Any) -> _ValueEncoder:
    """Returns `_encode`, or a function that names classes where the annotation has a union that needs it."""
    if kind == Hash:
        return lambda value, other: f"{value % (1 << _HASH_BITS):016x}"
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        if must_name(inner):
            return _named_encoder(inner)
        found = next((made for made in map(_encoder, inner) if made is not _encode), _encode)
        return (
            found if found is _encode else lambda value, other: _encode(value, other) if value is None else found(value, other)
        )
    if origin is None or origin is Literal:
        return _encode
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(inner) == 2:
        entry = _encoder(inner[1])
        if entry is not _encode:
            return lambda value, other: {str(key): entry(one, other) for key, one in value.items()}
    elif isinstance(origin, type) and issubclass(origin, Iterable) and inner and (len(inner) == 1 or inner[1] is ...):
        entry = _encoder(inner[0])
        if entry is not _encode:
            return lambda value, other: [entry(one, other) for one in value]
    return _encode


def _named_encoder(choices: tuple[Any, ...]) -> _ValueEncoder:
    """Returns the encoder of a union whose objects name their class."""
    named = {kind for kind in choices if is_dataclass(kind)}

    def encode_named(value: Any, other: Encoder) -> Any:
        encoded = _encode(value, other)
        return {TYPE: type(value).__name__, **encoded} if type(value) in named else encoded

    return encode_named


@lru_cache(maxsize=256)
def must_name(choices: tuple[Any, ...]) -> bool:
    """Whether an object of one of these classes could be read as another of them."""
    objects: list[Any] = [kind for kind in choices if is_dataclass(kind) and tag_of(kind) is None]
    if len(objects) + sum(map(_is_mapping, choices)) < 2:
        return False
    if any(map(_is_mapping, choices)):
        return True
    return any(_fits(_fields(other), _fields(one)[0]) for one in objects for other in objects if one is not other)


def _is_mapping(kind: Any) -> bool:
    origin = get_origin(kind) or kind
    return isinstance(origin, type) and issubclass(origin, Mapping)


# Decoding is directed by the annotation. A decoder raises `_Mismatch`, to which each level adds its place on the way out, so
# that no place is written for what is right.


class _Mismatch(Exception):
    """`path` are the steps to the value, the innermost first, each with the caller's keys that it shows. `refused` is the error
    of the class itself, which names its fields."""

    def __init__(self, problem: str, *shown: object, refused: InvalidInput | None = None) -> None:
        super().__init__(problem)
        self.problem, self.shown, self.refused = problem, shown, refused
        self.path = list[tuple[str, tuple[object, ...]]]()

    def at(self, where: str) -> InvalidInput:
        place = f"{where}{''.join(step for step, _ in reversed(self.path))}"
        keys = [key for _, keys in reversed(self.path) for key in keys]
        if self.refused is not None:
            return self.refused.within(place, *keys) if self.path else self.refused
        return InvalidInput(self.problem, *keys, *self.shown, path=place)


@lru_cache(maxsize=2048)
def _decoder(kind: Any, lenient: bool) -> Decoder:
    if kind is Any or kind is object:
        return lambda encoded: encoded
    if kind == Hash:
        return _hash
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_decoder(inner, lenient)
    if origin is Literal:
        return _literal_decoder(inner, lenient)
    if isinstance(origin, type):
        return _container_decoder(origin, inner, lenient)
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, tuple) and is_record(kind)):
        return _ObjectDecoder(kind, lenient)
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _row_decoder(kind, lenient)
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return _mapping_decoder(Any, lenient)
    return _plain_decoder(kind)


def _plain_decoder(kind: Any) -> Decoder:
    if kind in (datetime, date):
        return lambda encoded: _time(kind, encoded)
    if kind is float:
        return _float
    if kind is bytes:
        return _bytes
    if kind is int:
        return _int
    if kind not in (str, bool, list, dict, type(None)):
        raise TypeError(f"no JSON value stands for {kind}")
    return lambda encoded: encoded if isinstance(encoded, kind) else _wrong(_name(kind), encoded)


def _time(kind: Any, encoded: Any) -> Any:
    try:
        return kind.fromisoformat(encoded if isinstance(encoded, str) else _wrong("text", encoded))
    except ValueError:
        return _wrong("a time in ISO 8601", encoded)


def _float(encoded: Any) -> float:
    if isinstance(encoded, str) and encoded in ("inf", "-inf", "nan"):
        return float(encoded)
    if isinstance(encoded, bool) or not isinstance(encoded, int | float):
        _wrong("a number", encoded)
    try:
        return float(encoded)
    except OverflowError:
        return _wrong("a smaller number")


def _int(encoded: Any) -> int:
    if isinstance(encoded, bool) or not isinstance(encoded, int):
        _wrong("a whole number", encoded)
    if encoded.bit_length() > DIGITS.maximum:
        raise _Mismatch(f"is a number of {encoded.bit_length():,} bits, {DIGITS.maximum:,} are allowed")
    return int(encoded)


def _hash(encoded: Any) -> int:
    try:
        written = bytes.fromhex(encoded if isinstance(encoded, str) else _wrong(_HASH_FORM, encoded))
    except ValueError:
        return _wrong(_HASH_FORM, encoded)
    if len(encoded) != _HASH_BITS // 4 or len(written) != _HASH_BITS // 8:  # `fromhex` skips blanks
        _wrong(_HASH_FORM, encoded)
    return int.from_bytes(written, signed=True)


def _bytes(encoded: Any) -> bytes:
    try:
        return b64decode(encoded if isinstance(encoded, str) else _wrong("base64 text", encoded), validate=True)
    except (Base64Error, ValueError):
        return _wrong("base64 text")


def _literal_decoder(allowed: tuple[Any, ...], lenient: bool) -> Decoder:
    said, kinds = f"one of {', '.join(map(str, allowed))}", {*map(type, allowed)}

    def decode_literal(encoded: Any) -> Any:
        for one in allowed:
            if type(one) is type(encoded) and one == encoded:
                return one
        return encoded if lenient and type(encoded) in kinds else _wrong(said, encoded)

    return decode_literal


def _container_decoder(origin: type, inner: tuple[Any, ...], lenient: bool) -> Decoder:
    if origin is tuple and not (len(inner) == 2 and inner[1] is ...):
        return _fixed_decoder(inner, lenient)
    if issubclass(origin, Mapping):
        return _mapping_decoder(inner[1], lenient)
    if not issubclass(origin, Iterable) or len(inner) not in (1, 2):
        raise TypeError(f"no JSON value stands for {origin}")
    entry = _decoder(inner[0], lenient)
    made: Callable[[list[Any]], Any] = (
        tuple if origin is tuple else frozenset if issubclass(origin, AbstractSet) else lambda found: found
    )

    def decode_list(encoded: Any) -> Any:
        if not isinstance(encoded, list):
            _wrong("a list", encoded)
        found: list[Any] = []
        try:
            found.extend(map(entry, encoded))
        except _Mismatch as error:
            error.path.append((f"[{len(found)}]", ()))
            raise
        return made(found)

    return decode_list


def _mapping_decoder(kind: Any, lenient: bool) -> Decoder:
    entry = _decoder(kind, lenient)

    def decode_mapping(encoded: Any) -> dict[str, Any]:
        if not isinstance(encoded, dict):
            _wrong("an object", encoded)
        if kind is Any:
            return encoded
        found: dict[str, Any] = {}
        for name, one in encoded.items():
            try:
                found[name] = entry(one)
            except _Mismatch as error:
                error.path.append(("[{}]", (name,)))
                raise
        return found

    return decode_mapping


def _fixed_decoder(kinds: tuple[Any, ...], lenient: bool) -> Decoder:
    entries = [_decoder(kind, lenient) for kind in kinds]

    def decode_fixed(encoded: Any) -> tuple[Any, ...]:
        if not isinstance(encoded, list) or len(encoded) != len(entries):
            _wrong(f"a list of {len(entries)}", encoded)
        found: list[Any] = []
        try:
            for entry, one in zip(entries, encoded, strict=True):
                found.append(entry(one))
        except _Mismatch as error:
            error.path.append((f"[{len(found)}]", ()))
            raise
        return tuple(found)

    return decode_fixed


def _row_decoder(kind: Any, lenient: bool) -> Decoder:
    """Returns the decoder of a named tuple that is written as a list."""
    row = _fixed_decoder(tuple(_hints(kind)[name] for name in kind._fields), lenient)
    return lambda encoded: kind(*row(encoded))


class _ObjectDecoder:
    """Decodes a dataclass or a named tuple. Its fields are looked up at the first use, because classes may name one another."""

    def __init__(self, kind: Any, lenient: bool) -> None:
        self._kind, self._lenient = kind, lenient
        self._fields: dict[str, Decoder] | None = None
        self._needed: frozenset[str] = frozenset()

    def __call__(self, encoded: Any) -> Any:
        if not isinstance(encoded, dict):
            _wrong("an object", encoded)
        decoders = self._fields if self._fields is not None else self._found()
        given: dict[str, Any] = {}
        for name, one in encoded.items():
            if (decoder := decoders.get(name)) is None:
                if self._lenient or (name, one) in ((TYPE, self._kind.__name__), tag_of(self._kind)):
                    continue
                raise _Mismatch("has an unknown field {}", name)
            try:
                given[name] = decoder(one)
            except _Mismatch as error:
                error.path.append((f".{name}", ()))
                raise
        if not self._needed <= given.keys():
            raise _Mismatch(f"lacks {next(name for name in _hints(self._kind) if name in self._needed - given.keys())}")
        try:
            return self._kind(**given)
        except InvalidInput as error:
            raise _Mismatch(error.problem, refused=error) from None

    def _found(self) -> dict[str, Decoder]:
        hints = _hints(self._kind)
        known, self._needed = _fields(self._kind)
        self._fields = {name: _decoder(hints[name], self._lenient) for name in known}
        return self._fields


def _union_decoder(kinds: tuple[Any, ...], lenient: bool) -> Decoder:
    """Returns the decoder of a union: the JSON value's own type chooses, and among objects the fields or the name under
    `$type`. Text stays text where the union has both text and a time."""
    choices = [kind for kind in kinds if kind is not type(None)]
    if len(choices) == 1:
        only = _decoder(choices[0], lenient)
        return lambda encoded: None if encoded is None else only(encoded)
    optional = len(choices) < len(kinds)
    objects = {kind.__name__: kind for kind in choices if is_dataclass(kind) or _is_named(kind)}
    tags = {tag: kind for kind in objects.values() if (tag := tag_of(kind)) is not None}
    keys = {key for key, _ in tags}

    def _named_by(encoded: dict[str, Any]) -> tuple[str, str]:
        return next(((key, str(encoded[key])) for key in keys if key in encoded), ("", ""))

    mapping = next((_decoder(kind, lenient) for kind in choices if _is_mapping(kind)), None)
    others = [kind for kind in choices if kind not in objects.values() and not _is_mapping(kind)]
    plain = sorted(others, key=lambda kind: (kind is float, kind in (datetime, date)))  # int before float, text before times
    decoders = [_decoder(kind, lenient) for kind in plain]
    said = f"one of {', '.join(_name(kind) for kind in choices)}"

    def decode_object(encoded: dict[str, Any]) -> Any:
        # From the surest to the least sure: the name under `$type`; the field that names each class; a mapping, which any
        # object fits; the one class that has these fields and lacks none.
        named = objects.get(str(encoded.get(TYPE)))
        if named is None and mapping is None:
            named = tags.get(_named_by(encoded))
        if named is not None:
            return _decoder(named, lenient)(encoded)
        if mapping is not None:
            return mapping(encoded)
        if tags and len(tags) == len(objects):
            raise _Mismatch(f"must name its {min(keys)}: one of {', '.join(name for _, name in tags)}")
        fitting = [kind for kind in objects.values() if _fits(_fields(kind), encoded.keys())]
        # A newer version may have added fields to one of the classes: the one that shares most of them is meant.
        if lenient and not fitting:
            fitting = [kind for kind in objects.values() if _fields(kind)[1] <= encoded.keys()]
            fitting.sort(key=lambda kind: len(_fields(kind)[0] & encoded.keys()), reverse=True)
            del fitting[1:]
        if len(fitting) == 1 or (len(objects) == 1 and not decoders):
            return _decoder((fitting or [*objects.values()])[0], lenient)(encoded)
        if fitting:
            raise _Mismatch(f"must name its type: {TYPE} is one of {', '.join(kind.__name__ for kind in fitting)}")
        return _wrong(said, encoded)

    def decode_union(encoded: Any) -> Any:
        if encoded is None and optional:
            return None
        if isinstance(encoded, dict) and (objects or mapping):
            return decode_object(encoded)
        # The error that is told is the one furthest inside: the value was of that type, with a fault in it.
        first: _Mismatch | None = None
        for decoder in decoders:
            try:
                return decoder(encoded)
            except _Mismatch as error:
                first = error if first is None or (error.path and not first.path) else first
        if first is not None and (first.path or len(decoders) == 1):
            raise first
        return _wrong(said, encoded)

    return decode_union


def _is_named(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and is_record(kind)


def _fits(kind: tuple[frozenset[str], frozenset[str]], names: Iterable[str]) -> bool:
    """Whether these are fields of a class, and all that it needs."""
    known, needed = kind
    given = frozenset(names)
    return given <= known and given >= needed


@lru_cache(maxsize=1024)
def is_record(kind: type[tuple[Any, ...]]) -> bool:
    """Whether it is a named tuple that is read by its names, and not by their order: of more than four fields, or of fields
    that all have defaults."""
    names = getattr(kind, "_fields", ())
    return len(names) > _MAX_LIST_FIELDS or (bool(names) and len(names) == len(getattr(kind, "_field_defaults", ())))


@lru_cache(maxsize=1024)
def _fields(kind: Any) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the names of the fields of a dataclass or of a named tuple, and those that must be given."""
    if not is_dataclass(kind):
        return frozenset(kind._fields), frozenset(name for name in kind._fields if name not in kind._field_defaults)
    known: list[Field[Any]] = [field for field in fields(kind) if field.repr and field.init]
    needed = [field.name for field in known if field.default is MISSING and field.default_factory is MISSING]
    return frozenset(field.name for field in known), frozenset(needed)


@lru_cache(maxsize=1024)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _name(kind: Any) -> str:
    named = {dict: "an object", list: "a list", str: "text", int: "a whole number", float: "a number", bool: "true or false"}
    named |= {datetime: "a time", date: "a day", bytes: "base64 text"}
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    if _is_mapping(kind):
        return "an object"
    if isinstance(origin := get_origin(kind), type) and issubclass(origin, Iterable):
        return "a list"
    return named.get(kind, getattr(kind, "__name__", str(kind)))


def _wrong(expected: str, *found: Any) -> NoReturn:
    """Raises `_Mismatch`; the error shows what was found instead, if that is given."""
    raise _Mismatch(f"must be {expected}, not {{}}" if found else f"must be {expected}", *found)
