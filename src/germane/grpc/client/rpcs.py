"""RPCs: the client's calls that may raise: each as a request, its RPC, and the reader of its response.

No model call waits for these: `germane_error` turns a gRPC status into one of germane's errors. Most return
the contract's own messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from google.protobuf.struct_pb2 import Struct

from germane.errors import (
    Conflict,
    ConsentNeeded,
    GermaneError,
    InvalidInput,
    NotFound,
    NotPermitted,
    Stale,
    StoreCorrupt,
    StoreUnavailable,
)
from germane.grpc.answer import Answer
from germane.grpc.client.assembly import AssembleCall, ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.client.channel import grpc
from germane.grpc.client.conversation import MAX_BYTES, Altered, Oversized, add_messages
from germane.grpc.messages import context_pb2, memory_pb2
from germane.kinds.events.value import Recorded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ClientRpc(Generic[T]):
    """One RPC of the service `stub`. `read` gets the response; where the RPC streams, the list of all responses."""

    stub: Callable[[Any], Any]
    method: str
    request: Any
    read: Callable[[Any], T]
    streams: bool = False
    error: Callable[[grpc.RpcError], GermaneError] = field(default_factory=lambda: germane_error)
    """Turns a gRPC status into what the call raises."""

    def start(self, channel: Any, **options: Any) -> Any:
        """Starts the RPC on `channel` and returns gRPC's call object. `options` are gRPC's, such as `timeout` in seconds."""
        return getattr(self.stub(channel), self.method)(self.request, **options)


def assemble(scope: ClientScope, messages: Sequence[Any], *, deadline: float | None = None, **asked: Any) -> ClientRpc[Answer]:
    """Assembles as the client's `assemble`, which has the other arguments, but raises where that answers with the caller's own
    messages. For a program that a person uses. `deadline` are the seconds until the service answers (default: its own)."""
    call = AssembleCall(scope, messages, **asked)
    call.copy_messages()
    with sendable():
        request = call.build()
    request.deadline_ms = 0 if deadline is None else max(1, round(deadline * 1000))

    def read(response: context_pb2.AssembleContextResponse) -> Answer:
        try:
            return call.answer(response)
        except Altered:
            raise InvalidInput(
                "aren't in the shape of the model's provider", path="messages", advice="name that provider"
            ) from None

    return ClientRpc(context_pb2.ContextAssemblyServiceStub, "AssembleContext", request, read)


def record(
    scope: ClientScope, messages: Sequence[Any], *, session: str, source_kind: str = "user", channel: str | None = None
) -> ClientRpc[Recorded]:
    """Stores the messages of a session verbatim. Idempotent: a message that is sent again is stored once. The result has the
    ids of what is new and of what was extracted from it, and counts the secrets that were found."""
    carrier = context_pb2.AssembleContextRequest()
    with sendable():
        add_messages(messages, carrier, all=True)
    request = memory_pb2.RecordRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        messages=carrier.messages,
        source_kind=checked_text("source_kind", source_kind),
        channel=checked_text("channel", channel, optional=True),
    )
    return ClientRpc(memory_pb2.EventServiceStub, "Record", request, _recorded)


def remember(
    scope: ClientScope, text_: str | None = None, /, *, kind: str = "note", agent_wide: bool = False, **fields: Any
) -> ClientRpc[memory_pb2.Memory]:
    """Stores a memory and returns it. `fields` are those of `germane.Agent.remember`."""
    request = memory_pb2.RememberRequest(
        scope=scope_to_wire(scope),
        text=checked_text("text", text_, optional=True),
        kind=checked_text("kind", kind),
        fields=fields_to_wire({name: value for name, value in fields.items() if value is not None}, scope.zone),
        agent_wide=agent_wide,
    )
    return ClientRpc(memory_pb2.MemoryServiceStub, "Remember", request, lambda response: response.memory)


def search(
    scope: ClientScope,
    query: str,
    limit: int = 10,
    *,
    filters: Any = None,
    at: datetime | None = None,
    strategy: str | None = None,
) -> ClientRpc[list[memory_pb2.SearchResponse]]:
    """Returns the memories and messages that answer `query` best, best first."""
    request = memory_pb2.SearchRequest(
        scope=scope_to_wire(scope),
        query=checked_text("query", query),
        limit=limit,
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        strategy=checked_text("strategy", strategy, optional=True),
    )
    return ClientRpc(memory_pb2.MemoryServiceStub, "Search", request, list, streams=True)


def forget(
    scope: ClientScope,
    ids: Sequence[str] = (),
    *,
    key: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    source_kind: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    by: str = "",
    reason: str = "",
) -> ClientRpc[memory_pb2.ForgetResponse]:
    """Deletes for good all that matches every criterion given. With `dry_run` nothing is deleted; the response lists what would
    be."""
    request = memory_pb2.ForgetRequest(
        scope=scope_to_wire(scope),
        ids=_ids(ids),
        key=checked_text("key", key, optional=True),
        tag=checked_text("tag", tag, optional=True),
        session_id=checked_text("session", session, optional=True),
        source_kind=checked_text("source_kind", source_kind, optional=True),
        channel=checked_text("channel", channel, optional=True),
        user_id=checked_text("user", user, optional=True),
        everything=everything,
        dry_run=dry_run,
        by=by,
        reason=reason,
    )
    return ClientRpc(memory_pb2.MemoryServiceStub, "Forget", request, lambda response: response)


def feedback(scope: ClientScope, ids: Sequence[str], *, helpful: bool = True) -> ClientRpc[int]:
    """Records that memories helped, or did harm. Returns how many of them were counted: those of the scope itself, so that a
    user's feedback doesn't count for agent-wide memories."""
    verdict = memory_pb2.VERDICT_HELPFUL if helpful else memory_pb2.VERDICT_HARMFUL
    request = memory_pb2.GiveFeedbackRequest(scope=scope_to_wire(scope), ids=_ids(ids), verdict=verdict)
    return ClientRpc(memory_pb2.MemoryServiceStub, "GiveFeedback", request, lambda response: response.known)


def check(scope: ClientScope, *, model: str = "gpt-4o", strategy: str | None = None) -> ClientRpc[None]:
    """For the start of a program: returns where the service answers, accepts the key for this org and agent, and knows the
    strategy; injects nothing. Raises what is wrong, and what to do: `StoreUnavailable`, else `InvalidInput`."""
    request = context_pb2.AssembleContextRequest(
        org_id=scope.org,
        agent_id=scope.agent,
        user_id=scope.user or "",
        model=checked_text("model", model),
        messages=[context_pb2.Message(role="user", content="check")],
        available_tokens=1,
        options=context_pb2.AssembleOptions(
            strategy=checked_text("strategy", strategy, optional=True), zone="" if scope.zone == "UTC" else scope.zone
        ),
    )

    def wrong(error: grpc.RpcError) -> GermaneError:
        return _wrong(error, scope)

    return ClientRpc(context_pb2.ContextAssemblyServiceStub, "AssembleContext", request, lambda _: None, error=wrong)


def _wrong(error: grpc.RpcError, scope: ClientScope) -> GermaneError:
    """Says which argument of the client a failed check is about."""
    code, details = error.code(), error.details() or "no more is said"
    match code:
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.DEADLINE_EXCEEDED:
            return StoreUnavailable(
                "target: no service answers there. Start one (germane serve) or correct the address; tls=True is for a service"
                f" with TLS only. gRPC says {code.name}: {details}"
            )
        case grpc.StatusCode.UNAUTHENTICATED:
            return InvalidInput("key: the service takes none but valid API keys: germane keys create makes one")
        case grpc.StatusCode.PERMISSION_DENIED:
            whose = f"org {scope.org!r} and agent {scope.agent!r}"
            return InvalidInput(f"key: it doesn't allow reading for {whose}: germane keys list shows what each key allows")
        case grpc.StatusCode.UNIMPLEMENTED:
            return InvalidInput("target: what answers there is another service than germane's", advice="correct the address")
    return germane_error(error)


@contextmanager
def sendable() -> Iterator[None]:
    """Raises `InvalidInput` where the messages that are written inside hold more text than one request may."""
    try:
        yield
    except Oversized:
        raise InvalidInput(
            f"messages hold more than {MAX_BYTES >> 20} MiB of text", advice="give them in several calls"
        ) from None


def fields_to_wire(fields: Mapping[str, Any], zone: str) -> Struct:
    """Returns the fields of a memory; None takes a field away."""
    struct = Struct()
    struct.update({name: _json(value, zone) for name, value in fields.items()})
    return struct


def _recorded(wire: memory_pb2.RecordResponse) -> Recorded:
    return Recorded(
        added=tuple(wire.added),
        skipped=wire.skipped,
        secrets=dict(wire.secrets),
        extracted=tuple(wire.extracted),
        assumed_resent=wire.assumed_resent,
        assumed_new=tuple(wire.assumed_new),
    )


def germane_error(error: grpc.RpcError) -> GermaneError:
    """Returns the error of germane's that a gRPC status stands for."""
    code: grpc.StatusCode = error.code()
    details = error.details() or "no more is said"
    trailing: Any = error.trailing_metadata() or ()
    more = {name: value for name, value in trailing if isinstance(value, str)}
    match more.get("germane-error"):
        case "ConsentNeeded":
            request, asked = more.get("germane-consent-request", ""), more.get("germane-asked-of", "")
            return ConsentNeeded(details, request=request, asked_of=asked)
        case "NotPermitted":
            return NotPermitted(details)
        case "Stale":
            return Stale(details)
    match code:
        case grpc.StatusCode.INVALID_ARGUMENT | grpc.StatusCode.OUT_OF_RANGE:
            return InvalidInput(details)
        case grpc.StatusCode.ALREADY_EXISTS:
            return Conflict(details)
        case grpc.StatusCode.NOT_FOUND:
            return NotFound(details)
        case grpc.StatusCode.UNAVAILABLE | grpc.StatusCode.DEADLINE_EXCEEDED | grpc.StatusCode.RESOURCE_EXHAUSTED:
            return StoreUnavailable(f"{code.name}: {details}")
        case grpc.StatusCode.DATA_LOSS:
            return StoreCorrupt(details)
    return GermaneError(f"{code.name}: {details}")


def scope_to_wire(scope: ClientScope) -> memory_pb2.Scope:
    zone = "" if scope.zone == "UTC" else scope.zone
    return memory_pb2.Scope(org_id=scope.org, agent_id=scope.agent, user_id=scope.user or "", zone=zone)


def _ids(ids: Sequence[str]) -> list[str]:
    return [ids] if isinstance(ids, str) else list(ids)


def _json(value: Any, zone: str) -> Any:
    """Returns a value as `Struct` takes it: datetimes as ISO 8601 text, collections as lists."""
    if isinstance(value, datetime):
        return time_to_wire("a time", value, zone).ToJsonString()
    if isinstance(value, Mapping):
        return {str(key): _json(inner, zone) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(inner, zone) for inner in value]
    return value
