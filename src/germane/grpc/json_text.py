"""JSON text: parses a caller's JSON after it has checked that depth and number of values are within the limits.

The check is one pass over brackets, commas and strings, which stops at the first limit that is exceeded. Most texts don't need
it, because they hold fewer of these signs than the limits allow.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from germane.grpc.refusals import invalid
from germane.types.limits import DEPTH, VALUES, VALUES_IN_ALL, Limit

__all__ = ["JsonText"]

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
_TOKENS_PER_VALUE = 5
"""In valid JSON a value comes with a key, a comma and two brackets at most; a text with more tokens isn't JSON."""


class JsonText:
    """Parses the JSON texts of one request. `values` limits the values in all of them together, `each` those in one text."""

    def __init__(self, *, values: Limit = VALUES_IN_ALL, each: Limit = VALUES) -> None:
        self._values, self._limit, self._each = 0, values, each

    def read(self, written: str, where: str) -> Any:
        """Returns the parsed value. Raises `Refused`, naming the field `where`, without any of the text in the error."""
        self._check_size(written, where)
        try:
            return _DECODER.decode(written)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise invalid(f"{where} isn't JSON that can be read{place}") from None

    def _check_size(self, written: str, where: str) -> None:
        opened = written.count("[") + written.count("{")
        values = opened + written.count(",") + 1
        if opened > DEPTH.maximum or values > self._each.maximum:  # the signs may stand inside strings
            values = _count_values(written, where, self._each)
        self._values += values
        if self._values > self._limit.maximum:
            raise invalid(f"{where}: more than {self._limit.maximum:,} values in the request: send fewer")


def _count_values(written: str, where: str, limit: Limit) -> int:
    """Returns an upper bound of the number of values. Raises `Refused` where depth or number exceed the limits."""
    depth, values = 0, 1
    for tokens, token in enumerate(_TOKEN.finditer(written)):
        sign = written[token.start()]
        if sign in "[{":
            depth += 1
            values += 1
            if depth > DEPTH.maximum:
                raise invalid(f"{where} is nested deeper than {DEPTH.maximum} levels")
        elif sign in "]}":
            depth -= 1
        elif sign == ",":
            values += 1
        if values > limit.maximum or tokens > _TOKENS_PER_VALUE * limit.maximum:
            raise invalid(f"{where} has more than {limit.maximum:,} values")
    return values


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Refuses `NaN` and `Infinity`: Python's parser accepts them, but JSON (RFC 8259) doesn't have them."""
