"""JSON text: what a caller wrote as JSON, read only once its depth and the number of its values are known to be within limits.
The look beforehand is one pass over brackets, commas and strings, which ends at the first limit; most texts need none."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from germane.grpc.refusals import invalid
from germane.types.limits import DEPTH, VALUES, VALUES_IN_ALL, Limit

__all__ = ["JsonText"]

_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
_TOKENS = 5
"""In good JSON a value comes with a key, a comma and two brackets at most: more of them, and it isn't JSON."""


class JsonText:
    """Reads the texts of one request. `values` limits them together, `each` every single one."""

    def __init__(self, *, values: Limit = VALUES_IN_ALL, each: Limit = VALUES) -> None:
        self._values, self._most, self._each = 0, values, each

    def read(self, written: str, where: str) -> Any:
        """Raises `Refused` with the field that `where` names, and never with anything of the text."""
        self._look(written, where)
        try:
            return _DECODER.decode(written)
        except (ValueError, RecursionError) as error:
            place = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            raise invalid(f"{where} isn't JSON that can be read{place}") from None

    def _look(self, written: str, where: str) -> None:
        opened = written.count("[") + written.count("{")
        values = opened + written.count(",") + 1
        if opened > DEPTH.most or values > self._each.most:  # these signs may be text: look closely
            values = _walked(written, where, self._each)
        self._values += values
        if self._values > self._most.most:
            raise invalid(f"{where}: more than {self._most.most:,} values in the request: send fewer")


def _walked(written: str, where: str, most: Limit) -> int:
    """How many values it has, at most."""
    depth, values = 0, 1
    for tokens, token in enumerate(_TOKEN.finditer(written)):
        sign = written[token.start()]
        if sign in "[{":
            depth += 1
            values += 1
            if depth > DEPTH.most:
                raise invalid(f"{where} is nested deeper than {DEPTH.most} levels")
        elif sign in "]}":
            depth -= 1
        elif sign == ",":
            values += 1
        if values > most.most or tokens > _TOKENS * most.most:
            raise invalid(f"{where} has more than {most.most:,} values")
    return values


def _none_such(_: str) -> NoReturn:
    raise ValueError


_DECODER = json.JSONDecoder(parse_constant=_none_such)
"""Without `NaN` and `Infinity`, which JSON doesn't have and nobody else reads."""
