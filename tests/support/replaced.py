"""Replaced: copies of a JSON document in which one value is another, for readers of files that anybody may have written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["replaced"]

_DEEP = "[" * 400 + "]" * 400
_WRITTEN = (
    *("null", "true", "-1", "1.5", "1e400", "NaN", '""', '"x"', '"\\ud800"', '"\\u0000"', "[]", "{}", '["x"]', '[["x"]]'),
    *('{"a": 1}', str(10**400), f'"{"9" * 5_000}"', '"9999-12-31"', _DEEP),
)
"""Values as JSON writes them: of each type, and those that no float, no date and no other reader's stack holds."""
assert math.isinf(json.loads("1e400"))


def replaced(document: Any, values: Sequence[str] = _WRITTEN) -> Iterator[Any]:
    """Yields the document once for each place in it and each of the `values` (JSON): with that value at that place."""
    written = json.dumps(document)
    for place in _places(document):
        for value in values:
            copy = json.loads(written)
            holder = copy
            for step in place[:-1]:
                holder = holder[step]
            holder[place[-1]] = json.loads(value)
            yield copy


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, held in inner:
        yield (*above, step)
        yield from _places(held, (*above, step))
