"""Routes: the path of each operation under `/v1`, and the arguments in a query.

    GET  /v1/agents/support/memories/list?user=ana&limit=10
    POST /v1/agents/support/tasks/push?user=ana        {"goal": "book a table"}

The path names the agent and the operation, the query the user and the time zone; arguments are a JSON object in the body. What
only reads is answered to GET too, with the arguments in the query: text as it is, any other value as JSON, a list also by
giving its name several times.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from http import HTTPStatus
from types import MappingProxyType, UnionType
from typing import Any, Literal, Union, get_args, get_origin
from urllib.parse import parse_qsl, unquote

from germane.api.operations import Operation, operations
from germane.errors import InvalidInput
from germane.service.http.problems import HttpRefused
from germane.types.checks import check_text
from germane.types.limits import NAME
from germane.types.operation import AGENTS, operation_path
from germane.types.scope import Scope

SCOPE = ("user", "zone", "org")
"""Names in the query that say whose data a request is about."""
_MAX_QUERY_FIELDS = 64
_OWN_AGENT = "default"
"""The agent that an operation on the whole org is called with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """What a request calls: `operation`, for `agent`."""

    operation: Operation
    agent: str


def path_of(operation: Operation) -> str:
    """Returns the operation's path, with `{agent}` in the place of the agent's name."""
    return operation_path(operation.name, "{agent}", of_org=operation.declared.of_org)


@cache
def _names() -> Mapping[str, Operation]:
    """The operations by the part of the path behind the agent, or behind the root for those of an org."""
    return MappingProxyType({path_of(one).replace(f"{AGENTS}/{{agent}}/", ""): one for one in operations().values()})


def route(method: str, raw_path: bytes) -> Route:
    """Returns what is called by a request for a path, in which only the agent's name may be percent-encoded. Raises
    `HttpRefused` for an unknown path, and for a method that the path doesn't have."""
    path, agent = raw_path.decode("ascii", "replace"), _OWN_AGENT
    if path.startswith(f"{AGENTS}/"):
        written, _, path = path.removeprefix(f"{AGENTS}/").partition("/")
        agent = unquoted(written)
    operation = _names().get(path)
    if operation is None:
        raise HttpRefused(HTTPStatus.NOT_FOUND, "no operation has this path: /v1/openapi.json lists them")
    allowed = methods_of(operation)
    if method not in allowed:
        raise HttpRefused(
            HTTPStatus.METHOD_NOT_ALLOWED, f"this operation takes {' or '.join(allowed)}", allow=", ".join(allowed)
        )
    return Route(operation=operation, agent=agent)


def unquoted(written: str) -> str:
    """Returns the agent's name as it stands percent-encoded in a path. Raises `HttpRefused`."""
    try:
        return unquote(written, errors="strict")
    except UnicodeDecodeError:
        raise HttpRefused(HTTPStatus.BAD_REQUEST, "the agent's name in the path isn't UTF-8, percent-encoded") from None


def methods_of(operation: Operation) -> tuple[str, ...]:
    """Returns the HTTP methods that call the operation."""
    return ("GET", "HEAD", "POST") if operation.right == "read" else ("POST",)


def query_of(query: bytes) -> dict[str, list[str]]:
    """Returns the fields of a query. Raises `InvalidInput`."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_QUERY_FIELDS)
    except (UnicodeError, ValueError):
        advice = f"UTF-8, percent-encoded, at most {_MAX_QUERY_FIELDS} fields"
        raise InvalidInput("isn't one that can be read", path="query", advice=advice) from None
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def scope_of(query: Mapping[str, list[str]], *, keyless: bool) -> dict[str, str]:
    """Returns the names of the scope in a query. The org is the key's by default; where the service is `keyless`, it is the
    library's default. Raises `InvalidInput` for a name that is given twice."""
    found = {"org": Scope().org} if keyless else {}
    for name in SCOPE:
        if values := query.get(name):
            if len(values) > 1:
                raise InvalidInput("is given more than once", path=name)
            found[name] = check_text(name, values[0], NAME)
    return found


def arguments_of(operation: Operation, query: Mapping[str, list[str]]) -> dict[str, Any]:
    """Returns the arguments in a query as JSON values, for `Operation.arguments`. Raises `InvalidInput`."""
    found: dict[str, Any] = {}
    for name, values in query.items():
        if name in SCOPE:
            continue
        listed, text = _reading(operation.hints.get(name))
        if listed and not (len(values) == 1 and values[0].startswith("[")):
            found[name] = [_value(name, value, text=text) for value in values]
        elif len(values) > 1:
            raise InvalidInput("is given more than once", path=name)
        else:
            found[name] = _value(name, values[0], text=text and not listed)
    return found


def _value(name: str, written: str, *, text: bool) -> Any:
    if text:
        return written
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise InvalidInput("must be written as JSON in a query, such as 10, true or an object", path=name) from None


@cache
def _reading(hint: Any) -> tuple[bool, bool]:
    """Whether an annotation takes a list, and whether it, or what the list holds, is text in a query."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        read = [_reading(one) for one in inner if one is not type(None)]
        return any(listed for listed, _ in read), any(text for _, text in read)
    if origin is Literal:
        return False, any(isinstance(one, str) for one in inner)
    if isinstance(origin, type) and issubclass(origin, Iterable) and not issubclass(origin, Mapping):
        return True, _reading(inner[0])[1] if inner else True
    return False, hint in (str, datetime, date)
