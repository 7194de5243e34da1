"""Context overflow: reads from a provider's error how many tokens a request had and how many it may have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_MAX_READ = 20_000
"""Characters of an error that are read."""
_MAX_DEPTH, _MAX_VALUES = 6, 200
_TOPIC = re.compile(r"tokens|token count|context (?:length|window|size|limit)|too (?:long|large)", re.IGNORECASE)
_READ_BEFORE, _READ_BEHIND = 80, 400
"""Characters around the words that are read for numbers."""
_NUMBER = re.compile(r"(?<![\w.:/-])\d[\d,_]{0,14}+(?![\w:/-])")
_MIN_TOKENS, _MAX_TOKENS = 64, 100_000_000
"""Other numbers are codes and times."""
_ANSWER = re.compile(r"(\d{1,12})(?: tokens)? (?:in|for) the completion", re.IGNORECASE)
_SUM = re.compile(r"(\d{1,12}) \+ (\d{1,12}) > (\d{1,12})")


class ContextOverflow(NamedTuple):
    """Tokens by the provider's own count: those of the request without its answer, and those that it may have; None where the
    error doesn't tell."""

    used: int | None
    most: int | None


def read_overflow(error: object) -> ContextOverflow:
    """Reads an exception, its text, or the body of an answer. Never raises."""
    for text in _texts(error):
        if (about := _TOPIC.search(text)) is not None:
            told = _figures(text[max(0, about.start() - _READ_BEFORE) : about.end() + _READ_BEHIND])
            if told.most is not None:
                return told
    return ContextOverflow(None, None)


def _figures(text: str) -> ContextOverflow:
    """Reads one sentence, such as `prompt is too long: 213423 tokens > 200000 maximum`. A request is refused because it has
    more than it may: of the two largest numbers the larger one is what it has. Tokens for the answer count for neither."""
    if added := _SUM.search(text):
        used, answer, most = map(int, added.groups())
        return ContextOverflow(used, max(1, most - answer))
    numbers = [int(found[0].replace(",", "").replace("_", "")) for found in _NUMBER.finditer(text)]
    largest = sorted({number for number in numbers if _MIN_TOKENS <= number <= _MAX_TOKENS})[-2:]
    if not largest:
        return ContextOverflow(None, None)
    if len(largest) < 2:
        return ContextOverflow(None, largest[0])
    most, used = largest
    kept = _ANSWER.search(text)
    answer = int(kept[1]) if kept is not None else 0
    return ContextOverflow(max(1, used - answer), max(1, most - answer))


def _texts(error: object) -> Iterator[str]:
    """Yields what an error says, itself first, then what its body holds."""
    seen = 0
    rest: list[tuple[Any, int]] = [(error, 0)]
    while rest and seen < _MAX_VALUES:
        value, depth = rest.pop(0)
        seen += 1
        if isinstance(value, str):
            yield value[:_MAX_READ]
        elif isinstance(value, bytes):
            yield value[:_MAX_READ].decode("utf-8", "replace")
        elif depth < _MAX_DEPTH and isinstance(value, Mapping):
            rest += [(each, depth + 1) for each in list(value.values())[:_MAX_VALUES]]
        elif depth < _MAX_DEPTH and isinstance(value, list | tuple):
            rest += [(each, depth + 1) for each in value[:_MAX_VALUES]]
        elif isinstance(value, BaseException):
            try:
                yield str(value)[:_MAX_READ]
            except Exception:
                yield ""
            rest += [(getattr(value, name, None), depth + 1) for name in ("message", "body", "details")]
            rest.append((value.__cause__, depth + 1))
