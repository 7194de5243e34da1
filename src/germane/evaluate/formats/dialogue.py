"""Dialogue: the shape that files of two named speakers share: `session_1`, `session_2`, … lists of turns in one object.

A turn has a `speaker`, an id of its own (`dia_id`) and a text; a shared photo's caption is part of what was said. A session's
time stands beside it (`session_1_date_time`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from germane.errors import InvalidInput

__all__ = ["Said", "Session", "numbered", "said", "time_of"]

_SESSION = re.compile(r"session_(\d{1,9})")


class Session(NamedTuple):
    name: str
    number: int
    time: Any
    """As in the file."""
    turns: Any
    """A list where the file is whole."""


class Said(NamedTuple):
    """One turn. What the file leaves out is None, a text that isn't there empty."""

    speaker: str | None
    text: str
    id: str | None


def numbered(document: Mapping[str, Any]) -> Iterator[Session]:
    """Its sessions by number."""
    found = sorted((int(match[1]), key) for key in document if (match := _SESSION.fullmatch(str(key))))
    for number, key in found:
        yield Session(key, number, document.get(f"{key}_date_time"), document[key])


def said(turn: Any, field: str = "text") -> Said:
    """A turn whose text is in `field`. Raises `InvalidInput` for what isn't an object."""
    if not isinstance(turn, Mapping):
        raise InvalidInput(f"a turn must be an object, not {type(turn).__name__}")
    speaker, text, caption, id = (turn.get(key) for key in ("speaker", field, "blip_caption", "dia_id"))
    content = [text] if isinstance(text, str) and text.strip() else []
    if isinstance(caption, str) and caption.strip():
        content.append(f"[shares a photo: {caption.strip()}]")
    return Said(
        speaker if isinstance(speaker, str) and speaker else None,
        " ".join(content),
        str(id) if isinstance(id, str | int) and id != "" else None,
    )


def time_of(text: Any, format: str) -> datetime | None:
    """A naive time as in the file; None where it can't be read."""
    try:
        return datetime.strptime(text, format) if isinstance(text, str) else None
    except ValueError:
        return None
