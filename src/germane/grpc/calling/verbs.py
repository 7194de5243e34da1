"""Verbs: what a client asks for besides assembling: as a request, the RPC it goes to, and how its answer is read.

These are not on the way to a model, so they may raise: `raised` turns a status into germane's errors. They answer the
contract's own messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from google.protobuf.struct_pb2 import Struct

from germane.errors import Conflict, GermaneError, InvalidInput, NotFound, StoreCorrupt, StoreUnavailable
from germane.grpc.calling.channel import grpc
from germane.grpc.calling.outbound import send
from germane.grpc.calling.question import Asker, moment, narrowing, text
from germane.grpc.stubs import context_pb2, memory_pb2
from germane.grpc.stubs.memory_pb2_grpc import DirectiveServiceStub, EventServiceStub, MemoryServiceStub

__all__ = ["Verb", "directive", "feedback", "forget", "raised", "record", "remember", "search"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verb(Generic[T]):
    """One RPC of a `stub`; `read` gets the response, or a list of all of them where they come one by one."""

    stub: Callable[[Any], Any]
    method: str
    request: Any
    read: Callable[[Any], T]
    streams: bool = False

    def call(self, channel: Any, **options: Any) -> Any:
        """As gRPC begins it on `channel`."""
        return getattr(self.stub(channel), self.method)(self.request, **options)


def record(
    asker: Asker, messages: Sequence[Any], *, session: str, source_kind: str = "user", channel: str | None = None
) -> Verb[memory_pb2.RecordResponse]:
    """Keep a conversation verbatim, each message once, however often it is sent."""
    carried = context_pb2.AssembleContextRequest()
    send(messages, carried, all=True)
    request = memory_pb2.RecordRequest(
        scope=_scope(asker),
        session_id=text("session", session),
        messages=carried.messages,
        source_kind=text("source_kind", source_kind),
        channel=text("channel", channel, optional=True),
    )
    return Verb(EventServiceStub, "Record", request, lambda answer: answer)


def remember(
    asker: Asker, text_: str | None = None, /, *, kind: str = "note", agent_wide: bool = False, **fields: Any
) -> Verb[memory_pb2.Memory]:
    """Keep something worth knowing; `fields` as `germane.Agent.remember` takes them."""
    given = Struct()
    given.update({name: _json(value, asker.zone) for name, value in fields.items() if value is not None})
    request = memory_pb2.RememberRequest(
        scope=_scope(asker),
        text=text("text", text_, optional=True),
        kind=text("kind", kind),
        fields=given,
        agent_wide=agent_wide,
    )
    return Verb(MemoryServiceStub, "Remember", request, lambda answer: answer.memory)


def search(
    asker: Asker,
    query: str,
    limit: int = 10,
    *,
    filters: Any = None,
    at: datetime | None = None,
    strategy: str | None = None,
) -> Verb[list[memory_pb2.SearchResponse]]:
    """What answers `query` best, memories and messages alike, best first."""
    request = memory_pb2.SearchRequest(
        scope=_scope(asker),
        query=text("query", query),
        limit=limit,
        filters=None if filters is None else narrowing(filters, asker.zone),
        at=None if at is None else moment("at", at, asker.zone),
        strategy=text("strategy", strategy, optional=True),
    )
    return Verb(MemoryServiceStub, "Search", request, list, streams=True)


def forget(
    asker: Asker,
    ids: Sequence[str] = (),
    *,
    key: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    user: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    by: str = "",
    reason: str = "",
) -> Verb[memory_pb2.ForgetResponse]:
    """Take away for good what matches every criterion given; `dry_run` tells what would go."""
    request = memory_pb2.ForgetRequest(
        scope=_scope(asker),
        ids=_ids(ids),
        key=text("key", key, optional=True),
        tag=text("tag", tag, optional=True),
        session_id=text("session", session, optional=True),
        user_id=text("user", user, optional=True),
        everything=everything,
        dry_run=dry_run,
        by=by,
        reason=reason,
    )
    return Verb(MemoryServiceStub, "Forget", request, lambda answer: answer)


def feedback(asker: Asker, ids: Sequence[str], *, helpful: bool = True) -> Verb[int]:
    """Say of memories that they helped, or did harm. Answers how many it counted for: with a user, not what is agent-wide."""
    verdict = memory_pb2.VERDICT_HELPFUL if helpful else memory_pb2.VERDICT_HARMFUL
    request = memory_pb2.GiveFeedbackRequest(scope=_scope(asker), ids=_ids(ids), verdict=verdict)
    return Verb(MemoryServiceStub, "GiveFeedback", request, lambda answer: answer.known)


def directive(asker: Asker, text_: str | None = None, /) -> Verb[str]:
    """The agent's standing instructions; with a text, set them first. An empty one removes."""
    if text_ is None:
        asked = memory_pb2.GetDirectiveRequest(scope=_scope(asker))
        return Verb(DirectiveServiceStub, "GetDirective", asked, lambda answer: answer.text)
    request = memory_pb2.SetDirectiveRequest(scope=_scope(asker), text=text("text", text_, optional=True))
    return Verb(DirectiveServiceStub, "SetDirective", request, lambda answer: answer.text)


def raised(error: grpc.RpcError) -> GermaneError:
    """The error of germane's tree that a status stands for."""
    code: grpc.StatusCode = error.code()
    said = error.details() or "no more is said"
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT | grpc.StatusCode.OUT_OF_RANGE:
            return InvalidInput(said)
        case grpc.StatusCode.ALREADY_EXISTS:
            return Conflict(said)
        case grpc.StatusCode.NOT_FOUND:
            return NotFound(said)
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.RESOURCE_EXHAUSTED:
            return StoreUnavailable(f"{code.name}: {said}")
        case grpc.StatusCode.DATA_LOSS:
            return StoreCorrupt(said)
    return GermaneError(f"{code.name}: {said}")


def _scope(asker: Asker) -> memory_pb2.Scope:
    zone = "" if asker.zone == "UTC" else asker.zone
    return memory_pb2.Scope(org_id=asker.org, agent_id=asker.agent, user_id=asker.user or "", zone=zone)


def _ids(ids: Sequence[str]) -> list[str]:
    return [ids] if isinstance(ids, str) else list(ids)


def _json(value: Any, zone: str) -> Any:
    if isinstance(value, datetime):
        return moment("a time", value, zone).ToJsonString()
    if isinstance(value, Mapping):
        return {str(key): _json(one, zone) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(one, zone) for one in value]
    return value
