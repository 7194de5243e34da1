"""Assembly: one `assemble` of a client: its arguments, the request, and the reading of the reply.

`time_to_wire` and `filters_to_wire` serve the other calls too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from germane.api.remote.answer import Answer
from germane.api.remote.fallback import model_provider, own_messages
from germane.api.remote.operation_call import ClientScope, checked_text
from germane.clock import aware
from germane.errors import InvalidInput
from germane.grpc.answer import metadata_from_wire
from germane.grpc.client.conversation import SentMessage, add_messages, json_of, verify_reply
from germane.grpc.messages import context_pb2, filters_pb2
from germane.types.budget import Effort, price_of_effort
from germane.types.checks import check_moment, check_task, check_type, check_whole_number
from germane.types.limits import COUNT

_APART = frozenset({"anthropic", "gemini"})
"""Providers that keep the system prompt apart from the messages and may answer without one."""
_LISTS = ("kinds", "event_types", "entity_types", "tags", "sensitivities", "exclude")
_FILTERS = frozenset({*_LISTS, "since", "until", "session", "with_ended", "task"})


@dataclass(slots=True, eq=False)
class AssembleCall:
    """Returns the messages together with the context that the model needs, within `limit` seconds.

    The arguments are those of `germane.Agent.assemble`, but this never raises: where something goes wrong, the answer holds the
    messages as they were given, `metadata.fallback_reason` names the failure, and the logger `germane.client` warns once.

    `provider` is the shape of the messages, in and out: openai, openai-responses, anthropic or gemini; by default that of the
    model's own provider. `filters` is a `germane.Filters` or a mapping with the same names. `max_tokens` bounds the added
    text, in the model's tokens. `blocks` are labels or ids of memory blocks to show besides those of every context. `task` is
    the id of the task of the session's stack that this request works on (default: the current one), False leaves the stack out.
    `system` is your own system prompt beside the messages; an answer holds it in `system`, or as the first message for OpenAI.
    """

    # The fields are the parameters of the clients' `assemble`, and the text above is its help. Making a call checks nothing, so
    # it can't raise; `build` checks.

    scope: ClientScope
    messages: Sequence[Any]
    _: KW_ONLY
    model: str
    session: str | None = None
    user: str | None = None
    agent: str | None = None
    org: str | None = None
    zone: str | None = None
    provider: str | None = None
    tools: Sequence[Mapping[str, Any]] | None = None
    query: str | None = None
    at: datetime | None = None
    max_tokens: int | None = None
    strategy: str | None = None
    filters: Any = None
    effort: Effort | float | None = None
    window: int | None = None
    like: str | None = None
    system: Any = None
    blocks: Sequence[str] = ()
    task: str | bool | None = None
    request_id: str | None = None
    explain: bool = False
    _sent: Sequence[SentMessage] = field(init=False, default=())
    _sent_system: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if not self.provider:
            self.provider = model_provider(self.model, self.like)

    def copy_messages(self) -> None:
        """Replaces `messages` by a new list of the same objects, which the answer may then own. For OpenAI, which has no other
        place for a system prompt, it becomes the first message."""
        self.messages, self.system = own_messages(self.messages, self.system, self.provider or "")

    def build(self) -> context_pb2.AssembleContextRequest:
        """Returns the request. Raises `InvalidInput` for an argument that can't be used, `Oversized` for more text than can be
        sent in time."""
        request = self._without_messages(self.scope.within(org=self.org, agent=self.agent, user=self.user, zone=self.zone))
        self._sent = add_messages(self.messages, request)
        self._sent_system = request.options.system_json
        return request

    def answer(self, response: context_pb2.AssembleContextResponse) -> Answer:
        """Returns the answer that a response holds. Raises `Altered` where it lacks one of the caller's messages."""
        own = json.loads(self._sent_system) if self._sent_system else None
        messages, system = verify_reply(self._sent, response, own, apart=self.provider in _APART)
        metadata = metadata_from_wire(response.metadata)
        return Answer(messages=messages, system=system, metadata=metadata, explanation=response.explanation)

    def _without_messages(self, scope: ClientScope) -> context_pb2.AssembleContextRequest:
        check_type("messages", self.messages, list, "a list such as [{'role': 'user', 'content': '…'}]")
        _check_count("max_tokens", self.max_tokens, 0)
        _check_count("window", self.window, 1)
        if self.effort is not None:
            price_of_effort(self.effort)
        task, system = check_task(self.task, self.session), self.system
        if not isinstance(system, str | list | tuple | Mapping | None):
            raise InvalidInput(
                f"must be a string, a list of text blocks or {{'parts': […]}}, not {type(system).__name__}", path="system"
            )
        options = context_pb2.AssembleOptions(
            strategy=checked_text("strategy", self.strategy, optional=True),
            query=checked_text("query", self.query, optional=True),
            zone="" if scope.zone == "UTC" else scope.zone,
            provider=checked_text("provider", self.provider, optional=True),
            tools_json="" if self.tools is None else json.dumps(self.tools),
            explain=bool(self.explain),
            effort="" if self.effort is None else str(self.effort),
            like=checked_text("like", self.like, optional=True),
            window=self.window or 0,
            system_json=json_of(system) if system else "",
            blocks=[checked_text(f"blocks[{index}]", one) for index, one in enumerate(_listed(self.blocks))],
            task_id=task if isinstance(task, str) else "",
            without_tasks=task is False,
        )
        if self.at is not None:
            options.at.CopyFrom(time_to_wire("at", self.at, scope.zone))
        if self.filters is not None:
            options.filters.CopyFrom(filters_to_wire(self.filters, scope.zone))
        most = self.max_tokens
        return context_pb2.AssembleContextRequest(
            org_id=scope.org,
            agent_id=scope.agent,
            user_id=scope.user or "",
            session_id=checked_text("session", self.session, optional=True),
            model=checked_text("model", self.model),
            request_id=checked_text("request_id", self.request_id, optional=True),
            available_tokens=0 if most is None else max(1, most),  # 0 on the wire means "no limit of the caller's"
            options=options,
        )


def _listed(blocks: object) -> Sequence[object]:
    if isinstance(blocks, str) or not isinstance(blocks, Sequence):
        raise InvalidInput(f"must be a list of labels or ids, not {type(blocks).__name__}", path="blocks")
    return blocks


def filters_to_wire(filters: Any, zone: str) -> filters_pb2.Filters:
    """Returns a `germane.Filters`, or a mapping with the same names, as the wire's message.

    Raises `InvalidInput` for an unknown name, and for an empty list: it would allow nothing, but on the wire an empty list
    doesn't filter at all.
    """
    given = filters if isinstance(filters, Mapping) else {name: getattr(filters, name, None) for name in _FILTERS}
    if unknown := sorted(map(str, given.keys() - _FILTERS)):
        raise InvalidInput(f"filters: unknown {', '.join(unknown)}", advice=f"there are {', '.join(sorted(_FILTERS))}")
    wire = filters_pb2.Filters(
        session_id=checked_text("session", given.get("session"), optional=True),
        with_ended=bool(given.get("with_ended")),
        task_id=checked_text("task", given.get("task"), optional=True),
    )
    for name in _LISTS:
        value = given.get(name)
        if value is None or (name == "exclude" and not value):
            continue
        if isinstance(value, str | bytes) or not value:
            raise InvalidInput("must be a list of at least one string", path=f"filters.{name}")
        getattr(wire, name).extend(value)
    for name in ("since", "until"):
        if (value := given.get(name)) is not None:
            getattr(wire, name).CopyFrom(time_to_wire(name, value, zone))
    return wire


def time_to_wire(name: str, value: object, zone: str) -> Timestamp:
    """Returns a datetime as a timestamp; a naive one is read in `zone`. Raises `InvalidInput` for any other type."""
    timestamp = Timestamp()
    timestamp.FromDatetime(aware(check_moment(name, value), zone))
    return timestamp


def _check_count(name: str, value: object, minimum: int) -> None:
    """Checks a number that may be None. Raises `InvalidInput`."""
    if value is not None:
        check_whole_number(name, value, minimum, COUNT.maximum)
