"""Lines: writes the header and each stored thing of an export as one JSON object, and reads them back (MEM-3).

The lines depend on nothing but what is stored: exporting the same again gives the same bytes. `docs/reference/export-lines.md`
describes every field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from germane.errors import InvalidInput
from germane.transfer.contents import Contents, Owned, Owner, Reach
from germane.transfer.formats import FORMATS
from germane.transfer.line_format import MAX_COUNT, As, LineFormat, one_object, whole
from germane.types.checks import check_one_of
from germane.types.scope import Scope

FORMAT = "germane-export"
VERSION = 5
"""The version of the format. A reader takes this one and earlier ones."""
HOLDS = (
    *("directives", "memories", "contradictions", "blocks", "entries", "sessions", "messages"),
    *("entities", "relations", "patterns", "tasks", "task_stacks", "archived", "summaries"),
    *("profile_marks", "tombstones"),
)
"""What the header counts: the fields of `Contents`, but for the time of the latest change."""
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


_TYPES = MappingProxyType({form.kind: type for type, form in FORMATS.items()})


class Header(NamedTuple):
    """The first line of an export."""

    reach: Reach
    contents: Contents


class _HeaderLine(NamedTuple):
    """The fields of the first line. `latest` is for people: it isn't read back."""

    format: str
    version: int
    scope: Reach
    holds: Contents
    latest: datetime | None = None


def _format(name: str, value: Any) -> str:
    if value != FORMAT:
        raise InvalidInput("must be {}, not {}", FORMAT, value, path=name)
    return FORMAT


def _version(name: str, value: Any) -> int:
    version: int = whole(1, MAX_COUNT)(name, value)
    if version > VERSION:
        raise InvalidInput(
            f"of the format is {version}, and this germane reads up to {VERSION}", path=name, advice="upgrade germane"
        )
    return version


_HEADER = LineFormat(
    _HeaderLine,
    "the header",
    fields={
        "format": As(read=_format),
        "version": As(read=_version),
        "scope": one_object(LineFormat(Reach, "scope")),
        "holds": one_object(LineFormat(Contents, "holds", left_out=("latest",), order=" ".join(HOLDS))),
    },
)


def header_line(reach: Reach, contents: Contents) -> dict[str, Any]:
    """Returns the first line: format and version, whose data it is, and how many things follow."""
    return {"type": "header", **_HEADER.write(_HeaderLine(FORMAT, VERSION, reach, contents, contents.latest))}


def line_of(owned: Owned) -> dict[str, Any]:
    """Returns the line of a stored thing."""
    kind = _TYPES[type(owned.thing)]
    return {"type": kind, **owned.owner._asdict(), **FORMATS[kind].write(owned.thing)}


def written(line: Mapping[str, Any]) -> str:
    """Returns the line as JSON, without a line break. Characters that could control a terminal, and lone surrogates, are
    written as escapes."""
    return _UNSAFE.sub(_escape, json.dumps(line, ensure_ascii=False))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"  # json leaves DEL as it is


# Reads the lines back, and checks every field: the file may come from anywhere. A field that has a default may be left
# out. Texts and times are kept as they are. Raises `InvalidInput`, which names the field and holds no content.


def read_line(line: str | bytes) -> Mapping[str, Any]:
    """Returns the JSON object in a line. Raises `InvalidInput`."""
    try:
        entry = json.loads(line, parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"it isn't UTF-8 at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep, or too long a number"
        raise InvalidInput(f"it isn't JSON: {why}") from None
    if not isinstance(entry, dict):
        raise InvalidInput(f"it must be an object, not {type(entry).__name__}")
    return entry


def parse_line(line: Mapping[str, Any]) -> Header | Owned:
    """Returns the header, or the stored thing, that the line holds. Raises `InvalidInput`."""
    if not isinstance(line, Mapping):
        raise InvalidInput(f"it must be an object, not {type(line).__name__}")
    rest = dict(line)
    kind = rest.pop("type", None)
    if kind == "header":
        header = _HEADER.read(rest)
        return Header(header.scope, header.holds)
    kind = check_one_of("type", kind, FORMATS)
    owner = Owner(org=rest.pop("org", None), agent=rest.pop("agent", None), user=rest.pop("user", None))
    if owner.org is None and (kind != "tombstone" or owner != (None, None, None)):
        raise InvalidInput("is missing", path="org", advice="name the org, the agent, and the user or null")
    if owner.org is not None:
        Scope(org=owner.org, agent=owner.agent, user=owner.user)  # type: ignore[arg-type]
    return Owned(owner, FORMATS[kind].read(rest, owner))


def _no_number(name: str) -> NoReturn:
    raise InvalidInput(f"{name} isn't valid JSON")
