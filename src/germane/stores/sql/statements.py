"""Statements: queries with typed results, and Python values as SQL values and back without loss."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from germane.stores.sql.connection import Connection
from germane.types.candidate import SENSITIVITIES, Provenance, Sensitivity

Row = tuple[Any, ...]


def rows(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Iterator[Row]:
    """Returns an iterator over all rows."""
    return connection.execute(sql, values)


def first(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """Returns the first row, or None."""
    return connection.execute(sql, values).fetchone()


def only(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Row:
    """Returns the row of a query that always has one, such as a count."""
    found = first(connection, sql, values)
    assert found is not None
    return found


# Values: what is bound to a statement, and what a row's columns hold. Each function that writes has its inverse.


UNCLEAR = "\ufffd"
"""What stands in a stored text for broken characters, which the hash was made of."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_NO_PROVENANCE = Provenance()
_FIELDS = tuple(field.name for field in fields(Provenance))
_VALUES = attrgetter(*_FIELDS)
_USUAL = MappingProxyType(dict(zip(_FIELDS, _VALUES(_NO_PROVENANCE), strict=True)))


def micros(moment: datetime) -> int:
    """Returns microseconds since 1970 (Unix epoch), without rounding."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The inverse of `micros`."""
    return _EPOCH + timedelta(0, 0, value)


def maybe_micros(value: datetime | None) -> int | None:
    return None if value is None else micros(value)


def maybe_moment(value: int | None) -> datetime | None:
    return None if value is None else moment(value)


def to_sql(text: str) -> str | bytes:
    """Returns text as SQLite can store it: text with lone surrogates, which UTF-8 can't hold, as bytes."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def from_sql(value: str | bytes) -> str:
    """The inverse of `to_sql`."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def maybe_to_sql(text: str | None) -> str | bytes | None:
    return None if text is None else to_sql(text)


LISTED = "(SELECT value FROM json_each(?))"
"""SQL for the values of a list that is bound as JSON (`to_json`): one bound value for any number, as SQLite allows 32,766."""


def to_json(value: object) -> str:
    """Returns compact JSON in ASCII, which can hold any `str`, lone surrogates included."""
    return _ENCODER.encode(value)


def from_json(text: str | None) -> Any:
    return {} if text is None else json.loads(text)


def scope_mark(*names: str) -> str:
    """Returns a hash of names that tells none of them."""
    return hashlib.sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()


def sensitivity_of(code: int) -> Sensitivity:
    return SENSITIVITIES[code]


def written_provenance(provenance: Provenance, **known: str | None) -> str | None:
    """Returns the provenance as JSON, without the fields whose value is `known` from the rest of the row; None where no other
    field is set."""
    usual = _USUAL | known if known else _USUAL
    other = {name: value for name, value in zip(_FIELDS, _VALUES(provenance), strict=True) if value != usual[name]}
    return to_json(other) if other else None


def provenance_of(text: str | None, **known: str | None) -> Provenance:
    """The inverse of `written_provenance`, with the same `known` fields."""
    if text is None:
        return _known_provenance(**known)
    written = known | json.loads(text)
    written["refs"] = tuple(written.get("refs", ()))
    return Provenance(**written)


@lru_cache(maxsize=1024)
def _known_provenance(**known: str | None) -> Provenance:
    """Most messages of a session have the same."""
    return Provenance(**known)  # type: ignore[arg-type]


def _to_json_value(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


_ENCODER = json.JSONEncoder(default=_to_json_value, separators=(",", ":"))
