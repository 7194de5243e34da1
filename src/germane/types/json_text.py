"""JSON text: reads the JSON that callers send, and writes the JSON that they are sent.

A text is parsed only after its depth and its number of values have been checked. The check is one pass over brackets, commas
and strings, which stops at the first limit that is exceeded. Most texts don't need it, because they hold fewer of these signs
than the limits allow.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from germane.errors import InvalidInput
from germane.types.limits import DEPTH, VALUES, VALUES_IN_ALL, Limit

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
_TOKENS_PER_VALUE = 5
"""In valid JSON a value comes with a key, a comma and two brackets at most; a text with more tokens isn't JSON."""


class JsonText:
    """Parses the JSON texts of one request. `values` limits the values in all of them together, `each` those in one text."""

    def __init__(
        self,
        *,
        values: Limit = VALUES_IN_ALL,
        each: Limit = VALUES,
        levels: int = DEPTH.maximum,
        decoder: json.JSONDecoder | None = None,
    ) -> None:
        self._values, self._limit, self._each = 0, values, each
        self._levels, self._decoder = levels, decoder or _DECODER

    def read(self, written: str, where: str) -> Any:
        """Returns the parsed value. Raises `InvalidInput`, naming the field `where`, without any of the text in the error."""
        self._check_size(written, where)
        try:
            return self._decoder.decode(written)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise InvalidInput(f"isn't JSON that can be read{place}", path=where) from None

    def _check_size(self, written: str, where: str) -> None:
        opened = written.count("[") + written.count("{")
        values = opened + written.count(",") + 1
        if opened > self._levels or values > self._each.maximum:  # the signs may stand inside strings
            values = _count_values(written, where, self._each, self._levels)
        self._values += values
        if self._values > self._limit.maximum:
            raise InvalidInput(
                f"brings the request to more than {self._limit.maximum:,} values", path=where, advice="send fewer"
            )


def _count_values(written: str, where: str, limit: Limit, levels: int) -> int:
    """Returns an upper bound of the number of values. Raises `InvalidInput` where depth or number exceed the limits."""
    depth, values = 0, 1
    for tokens, token in enumerate(_TOKEN.finditer(written)):
        sign = written[token.start()]
        if sign in "[{":
            depth += 1
            values += 1
            if depth > levels:
                raise InvalidInput(f"is nested deeper than {levels} levels", path=where)
        elif sign in "]}":
            depth -= 1
        elif sign == ",":
            values += 1
        if values > limit.maximum or tokens > _TOKENS_PER_VALUE * limit.maximum:
            raise InvalidInput(f"has more than {limit.maximum:,} values", path=where)
    return values


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Refuses `NaN` and `Infinity`: Python's parser accepts them, but JSON (RFC 8259) doesn't have them."""


# The arguments and results of operations.


_ENVELOPE = 4
"""Levels around what `DEPTH` limits: the arguments, a list of them, an object in it, its field."""


def read_object(data: bytes, where: str) -> dict[str, Any]:
    """Returns the JSON object in `data`; no bytes are an empty one. Raises `InvalidInput`, without any of the text in the
    error, for what isn't JSON in UTF-8, for a key that occurs twice, a lone surrogate, a number that no double can hold, and
    beyond the limits of depth and number."""
    if not data:
        return {}
    try:
        written = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"isn't UTF-8 at byte {error.start:,}", path=where) from None
    found = JsonText(each=VALUES_IN_ALL, levels=DEPTH.maximum + _ENVELOPE, decoder=_STRICT).read(written, where)
    if not isinstance(found, dict):
        raise InvalidInput("must be a JSON object", path=where)
    if "\\u" in written:
        _refuse_surrogates(found, where)
    return found


_WRITER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_json(value: Any) -> bytes:
    """Returns a JSON value as UTF-8, with U+FFFD in the place of lone surrogates, which UTF-8 can't hold."""
    written = _WRITER.encode(value)
    try:
        return written.encode()
    except UnicodeEncodeError:
        return written.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _refuse_surrogates(value: Any, where: str) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InvalidInput("holds a lone surrogate: it isn't valid Unicode", path=where) from None


def _finite(written: str) -> float:
    if math.isinf(number := float(written)):
        raise ValueError
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_object)
