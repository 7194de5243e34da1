"""Edge: what a caller passed, made sure of or refused with the argument's name, before anything is done with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.catalog.catalog import Catalog
from germane.clock import Clock, aware
from germane.dialects.registry import dialect, parse_all
from germane.errors import InvalidInput
from germane.message import Message
from germane.query import Filters
from germane.request import Request
from germane.scope import Scope

__all__ = ["identifiers", "narrowed", "number", "requested"]


def requested(
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
    """The request that these arguments ask for. Raises `InvalidInput` for the first that can't be used."""
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput(f"model must be a name such as 'gpt-4o', not {model!r}")
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInput(f"messages must be a list of messages, not {type(messages).__name__}")
    if not messages and query is None:
        raise InvalidInput("messages is empty: give at least one, or a query")
    if query is not None and not isinstance(query, str):
        raise InvalidInput(f"query must be a string, not {type(query).__name__}")
    if deadline is not None and (isinstance(deadline, bool) or not isinstance(deadline, int | float) or not deadline > 0):
        raise InvalidInput(f"deadline must be above 0 seconds, or None to wait, not {deadline!r}")
    name = catalog.find(model).provider if provider is None else provider
    dialect(name)
    return Request(
        scope=scope,
        messages=parse_all(messages, name),
        raw=tuple(messages),
        model=model,
        provider=name,
        at=clock.now() if at is None else _moment("at", at, scope.zone),
        dated=at is not None,
        tools=_tools(tools),
        query=query,
        deadline=deadline,
        max_tokens=None if max_tokens is None else number("max_tokens", max_tokens),
        filters=narrowed(filters, scope.zone) or Filters(),
    )


def narrowed(filters: Filters | None, zone: str) -> Filters | None:
    """The filters with their times in UTC; naive ones are local times of `zone` (SCOPE-4)."""
    if filters is None:
        return None
    if not isinstance(filters, Filters):
        raise InvalidInput(f"filters must be a Filters, such as Filters(tags=['work']), not {type(filters).__name__}")
    if filters.since is None and filters.until is None:
        return filters
    since = None if filters.since is None else aware(filters.since, zone)
    return replace(filters, since=since, until=None if filters.until is None else aware(filters.until, zone))


def number(name: str, value: object, *, least: int = 0, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        reach = f"{least} or more" if most is None else f"{least} to {most:,}"
        raise InvalidInput(f"{name} must be a whole number, {reach}, not {value!r}")
    return value


def identifiers(value: object) -> tuple[str, ...]:
    """Ids as given; one alone may come without a list."""
    found = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else None
    if found is None or not all(isinstance(id, str) for id in found):
        raise InvalidInput(f"ids must be a list of strings, not {type(value).__name__ if found is None else value!r}")
    return tuple(str(id) for id in found)


def _tools(tools: object) -> tuple[Mapping[str, Any], ...]:
    if tools is None:
        return ()
    if isinstance(tools, str | bytes | Mapping) or not isinstance(tools, Iterable):
        raise InvalidInput(f"tools must be a list of tool schemas, not {type(tools).__name__}")
    found = tuple(tools)
    for at, tool in enumerate(found):
        if not isinstance(tool, Mapping):
            raise InvalidInput(f"tools[{at}] must be a tool's schema as a dict, not {type(tool).__name__}")
    return found


def _moment(name: str, value: object, zone: str) -> datetime:
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {type(value).__name__}")
    return aware(value, zone)
