"""Question: one call of `assemble`, as the request that goes over the wire, and what is needed to read its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from germane.clock import aware
from germane.errors import InvalidInput
from germane.grpc.calling.answer import Answer, read
from germane.grpc.calling.outbound import Sent, send
from germane.grpc.calling.verify_reply import verify_reply
from germane.grpc.stubs import context_pb2, filters_pb2

__all__ = ["Asker", "Question", "ask", "moment", "narrowing", "text"]

_LISTS = ("kinds", "event_types", "entity_types", "tags", "sensitivities", "exclude")
_FILTERS = frozenset({*_LISTS, "since", "until", "session", "with_history", "task"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, unless a call says otherwise: whose things are searched. `zone` is where times without an offset are from."""

    org: str = "default"
    agent: str = "default"
    user: str | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        for name in ("org", "agent", "zone"):
            text(name, getattr(self, name))
        text("user", self.user, optional=True)

    def within(self, **given: str | None) -> Asker:
        """With whatever isn't None in the place of its own."""
        own = {name: getattr(self, name) for name in ("org", "agent", "user", "zone")}
        return Asker(**own | {name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Question:
    request: context_pb2.AssembleContextRequest
    sent: Sequence[Sent]

    def answer(self, response: context_pb2.AssembleContextResponse) -> Answer:
        """Raises `Altered` where the caller's messages aren't all in it."""
        messages, system = verify_reply(self.sent, response)
        return Answer(messages=messages, system=system, metadata=read(response.metadata), explanation=response.explanation)


def ask(
    messages: Sequence[Any],
    *,
    asker: Asker,
    model: str,
    provider: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    query: str | None = None,
    session: str | None = None,
    at: datetime | None = None,
    max_tokens: int | None = None,
    strategy: str | None = None,
    filters: Any = None,
    request_id: str | None = None,
    explain: bool = False,
) -> Question:
    """Raises `InvalidInput` for what can't be asked, `Oversized` for more than can be sent in time."""
    if not isinstance(messages, list):
        raise InvalidInput(f"messages must be a list of messages, not {type(messages).__name__}")
    if max_tokens is not None and (isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 0):
        raise InvalidInput(f"max_tokens must be a whole number, 0 or more, not {max_tokens!r}")
    options = context_pb2.AssembleOptions(
        strategy=text("strategy", strategy, optional=True),
        query=text("query", query, optional=True),
        zone="" if asker.zone == "UTC" else asker.zone,
        provider=text("provider", provider, optional=True),
        tools_json="" if tools is None else json.dumps(tools),
        explain=bool(explain),
    )
    if at is not None:
        options.at.CopyFrom(moment("at", at, asker.zone))
    if filters is not None:
        options.filters.CopyFrom(narrowing(filters, asker.zone))
    request = context_pb2.AssembleContextRequest(
        org_id=asker.org,
        agent_id=asker.agent,
        user_id=asker.user or "",
        session_id=text("session", session, optional=True),
        model=text("model", model),
        request_id=text("request_id", request_id, optional=True),
        available_tokens=0 if max_tokens is None else max(1, max_tokens),  # the wire's 0 means as many as there are
        options=options,
    )
    return Question(request, send(messages, request))


def narrowing(filters: Any, zone: str) -> filters_pb2.Filters:
    """A `germane.Filters`, or a mapping with its names, for the wire. An empty list, which allows nothing, can't be said there
    and is refused."""
    given = filters if isinstance(filters, Mapping) else {name: getattr(filters, name, None) for name in _FILTERS}
    if strangers := sorted(map(str, given.keys() - _FILTERS)):
        raise InvalidInput(f"filters: unknown {', '.join(strangers)}: there are {', '.join(sorted(_FILTERS - {'task'}))}")
    if given.get("task") is not None:
        raise InvalidInput("filters: task can't be asked for over the wire")
    out = filters_pb2.Filters(
        session_id=text("session", given.get("session"), optional=True), with_history=bool(given.get("with_history"))
    )
    for name in _LISTS:
        value = given.get(name)
        if value is None or (name == "exclude" and not value):
            continue
        if isinstance(value, str | bytes) or not value:
            raise InvalidInput(f"filters: {name} must be a list of at least one string")
        getattr(out, name).extend(value)
    for name in ("since", "until"):
        if (value := given.get(name)) is not None:
            getattr(out, name).CopyFrom(moment(name, value, zone))
    return out


def moment(name: str, value: object, zone: str) -> Timestamp:
    """A naive time is one of `zone`."""
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime, not {type(value).__name__}")
    stamp = Timestamp()
    stamp.FromDatetime(aware(value, zone))
    return stamp


def text(name: str, value: object, *, optional: bool = False) -> str:
    if value is None and optional:
        return ""
    if not isinstance(value, str) or not (optional or value.strip()):
        raise InvalidInput(f"{name} must be a string{'' if optional else ' that says something'}, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """Without what it holds: this goes into a log."""
    return "an empty one" if isinstance(value, str) else type(value).__name__
