"""Edge: what a caller passed, made sure of or refused with the argument's name, before anything is done with it. How much of
anything there may be is in `limits.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from germane.api.conversation import conversation
from germane.catalog.catalog import Catalog
from germane.clock import Clock, aware
from germane.dialects.registry import dialect, parse_all
from germane.errors import InvalidInput
from germane.memories.memory import KINDS
from germane.types.extent import Extent
from germane.types.limits import (
    COUNT,
    ID,
    IDS,
    MESSAGES,
    NAME,
    QUERY,
    TOOL_CHARACTERS,
    TOOLS,
    Limit,
    entries,
    shown,
    text,
    within,
)
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope

__all__ = ["build_request", "flags", "identifiers", "named_model", "narrowed", "number", "optional"]


def build_request(
    *,
    scope: Scope,
    catalog: Catalog,
    clock: Clock,
    messages: Sequence[Mapping[str, Any] | Message],
    model: str,
    provider: str | None = None,
    at: datetime | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    query: str | None = None,
    deadline: float | None = None,
    max_tokens: int | None = None,
    filters: Filters | None = None,
) -> Request:
    """The request that these arguments ask for. Raises `InvalidInput` for the first that can't be used. Messages are read when
    all else is sure."""
    named_model(model)
    conversation(messages, MESSAGES)
    if not messages and query is None:
        raise InvalidInput("messages is empty: give at least one, or a query")
    if query is not None:
        text("query", query, QUERY, valid=False)
    if deadline is not None and (isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline > 0):
        raise InvalidInput(f"deadline must be above 0 seconds, or None to wait, not {shown(deadline)}")
    schemas = _tools(tools)
    when = clock.now() if at is None else _moment("at", at, scope.zone)
    cap = None if max_tokens is None else number("max_tokens", max_tokens, most=COUNT.most)
    chosen = narrowed(filters, scope.zone) or Filters()
    name = catalog.find(model).provider if provider is None else text("provider", provider, NAME)
    dialect(name)
    return Request(
        scope=scope,
        messages=parse_all(messages, name),
        raw=tuple(messages),
        model=model,
        provider=name,
        at=when,
        dated=at is not None,
        tools=schemas,
        query=query,
        deadline=deadline,
        max_tokens=cap,
        filters=chosen,
    )


def named_model(model: object) -> str:
    """A model's name as given, known or not."""
    if not isinstance(model, str) or not text("model", model, NAME).strip():
        raise InvalidInput(f"model must be a name such as 'gpt-4o', not {shown(model)}")
    return model


def narrowed(filters: Filters | None, zone: str) -> Filters | None:
    """The filters with their times in UTC; naive ones are local times of `zone` (SCOPE-4). Raises `InvalidInput` for kinds that
    memories don't have, and for an end before the beginning."""
    if filters is None:
        return None
    if not isinstance(filters, Filters):
        raise InvalidInput(f"filters must be a Filters, such as Filters(tags=['work']), not {type(filters).__name__}")
    if strangers := sorted(set(filters.kinds or ()) - KINDS.keys()):
        raise InvalidInput(f"filters: unknown kinds {strangers[:5]}: they are {', '.join(KINDS)}")
    if filters.since is None and filters.until is None:
        return filters
    since = None if filters.since is None else aware(filters.since, zone, "filters: since")
    until = None if filters.until is None else aware(filters.until, zone, "filters: until")
    if since is not None and until is not None and since > until:
        raise InvalidInput(f"filters: since {since.isoformat()} is after until {until.isoformat()}: nothing lies between")
    return replace(filters, since=since, until=until)


def number(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        reach = f"{least} or more" if most is None else f"{least} to {most:,}"
        raise InvalidInput(f"{name} must be a whole number, {reach}, not {shown(value)}")
    return value


def identifiers(value: object) -> tuple[str, ...]:
    """Ids as given; one alone may come without a list."""
    return entries("ids", (value,) if isinstance(value, str) else value, IDS, ID)


def optional(name: str, value: object, limit: Limit) -> None:
    """Makes sure of a name or remark that may be left out."""
    if value is not None:
        text(name, value, limit)


def flags(**given: object) -> None:
    """Makes sure that each is True or False: anything else that counts as true is a mistake."""
    for name, value in given.items():
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be True or False, not {shown(value)}")


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if tools is None:
        return ()
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise InvalidInput(f"tools must be a list of tool schemas, not {type(tools).__name__}")
    found = tuple(islice(tools, TOOLS.most + 1))
    within("tools", len(found), TOOLS, least=True)
    extent = Extent("tools", TOOL_CHARACTERS)
    for at, tool in enumerate(found):
        if not isinstance(tool, Mapping):
            raise InvalidInput(f"tools[{at}] must be a tool's schema as a dict, not {type(tool).__name__}")
        extent.part(f"tools[{at}]", tool)
    return found


def _moment(name: str, value: object, zone: str) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {type(value).__name__}")
    return aware(value, zone, name)
