"""Parse: reads the lines of an export back, and checks every field: the file may come from anywhere.

A field that has a default may be left out. Texts and times are kept as they stand. Raises `InvalidInput`, which names the field
and holds no content.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from germane.errors import InvalidInput
from germane.transfer.block_line import parsed_block
from germane.transfer.directive_line import parsed_directive
from germane.transfer.entry_line import parsed_entry
from germane.transfer.graph_line import parsed_entity, parsed_pattern, parsed_relation
from germane.transfer.history_line import parsed_archived, parsed_summary
from germane.transfer.line import FORMAT, HOLDS, VERSION
from germane.transfer.line_fields import LineFields
from germane.transfer.mark_line import parsed_profile_mark
from germane.transfer.memory_line import parsed_contradiction, parsed_memory
from germane.transfer.session_line import parsed_message, parsed_session
from germane.transfer.stored import Contents, Owned, Owner, Reach, Thing
from germane.transfer.task_line import parsed_stack, parsed_task
from germane.transfer.tombstone_line import parsed_tombstone
from germane.types.limits import ID, shown
from germane.types.scope import Scope

__all__ = ["Header", "parse_line", "read_line"]


class Header(NamedTuple):
    """The first line of an export."""

    reach: Reach
    contents: Contents


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
        return _header(rest)
    if not isinstance(kind, str) or kind not in _THINGS:
        raise InvalidInput(f"type must be one of {', '.join(_THINGS)}, not {shown(kind)}")
    owner = Owner(org=rest.pop("org", None), agent=rest.pop("agent", None), user=rest.pop("user", None))
    if owner.org is None and (kind != "tombstone" or owner != (None, None, None)):
        raise InvalidInput("org is missing: each line names its org, its agent, and its user or null")
    if owner.org is not None:
        Scope(org=owner.org, agent=owner.agent, user=owner.user)  # type: ignore[arg-type]
    return Owned(owner, _THINGS[kind](rest, owner))


def _header(line: Mapping[str, Any]) -> Header:
    given = LineFields(line, "the header")
    form = given.take("format", None)
    if form != FORMAT:
        raise InvalidInput(f"format must be {FORMAT!r}, not {shown(form)}")
    version = given.whole("version", 1)
    if version > VERSION:
        raise InvalidInput(
            f"the export has version {version} of the format, and this germane reads up to {VERSION}: upgrade germane"
        )
    header = Header(_reach(given.take("scope")), _contents(given.take("holds")))
    given.maybe_time("latest")  # for people
    given.end()
    return header


def _reach(value: Any) -> Reach:
    given = LineFields(value, "scope")
    reach = Reach(
        org=given.maybe_text("org", ID),
        agent=given.maybe_text("agent", ID),
        user=given.maybe_text("user", ID),
        all_users=given.flag("all_users"),
    )
    given.end()
    return reach


def _contents(value: Any) -> Contents:
    given = LineFields(value, "holds")
    counts: dict[str, Any] = {name: given.count(name, 0) for name in HOLDS}
    given.end()
    return Contents(**counts)


def _no_number(name: str) -> NoReturn:
    raise InvalidInput(f"{name} is no number of JSON")


_THINGS: Mapping[str, Callable[[Mapping[str, Any], Owner], Thing]] = MappingProxyType(
    {
        "directive": lambda line, _: parsed_directive(line),
        "memory": parsed_memory,
        "contradiction": lambda line, _: parsed_contradiction(line),
        "block": parsed_block,
        "entry": parsed_entry,
        "session": lambda line, _: parsed_session(line),
        "message": parsed_message,
        "entity": parsed_entity,
        "relation": parsed_relation,
        "pattern": parsed_pattern,
        "task": parsed_task,
        "task_stack": lambda line, _: parsed_stack(line),
        "archived": lambda line, _: parsed_archived(line),
        "summary": lambda line, _: parsed_summary(line),
        "profile_mark": lambda line, _: parsed_profile_mark(line),
        "tombstone": lambda line, _: parsed_tombstone(line),
    }
)
