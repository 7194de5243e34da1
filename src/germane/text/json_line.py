"""JSON line: content as one line of JSON in which no tag and no further line can begin, to stand as data in a prompt."""

from __future__ import annotations

import json

__all__ = ["json_line"]

_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("\x85", "\\u0085"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def json_line(value: object) -> str:
    """Returns `value` as JSON in one line. Angle brackets and line separators are escaped; a lone surrogate becomes `?`."""
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    for mark, escaped in _ESCAPED:
        line = line.replace(mark, escaped)
    return line
