"""Memory RPCs: the client's calls that list, find, correct and explain what is stored, and `check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from germane.errors import GermaneError, InvalidInput, StoreUnavailable
from germane.grpc.client import values as plain
from germane.grpc.client.assembly import ClientScope, assemble, checked_text, filters_to_wire
from germane.grpc.client.channel import grpc
from germane.grpc.client.rpcs import ClientRpc, fields_to_wire, germane_error, scope_to_wire, sendable
from germane.grpc.stubs import context_pb2, filters_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.grpc.stubs.context_pb2_grpc import ContextAssemblyServiceStub
from germane.grpc.stubs.memory_pb2_grpc import EventServiceStub, MemoryServiceStub
from germane.kinds.events.value import Event, MessagePage, SessionPage
from germane.kinds.memories.value import Memory, Page
from germane.types.inventory import AgentPage, Stats, UserPage
from germane.types.limits import PAGE, quoted
from germane.types.reports import Why


def memories(scope: ClientScope, filters: Any = None, *, limit: int = 50, cursor: str | None = None) -> ClientRpc[Page]:
    """Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page."""
    request = pb.ListMemoriesRequest(
        scope=scope_to_wire(scope), filters=_filters(filters, scope), page_size=_size(limit), page_token=_token(cursor)
    )

    def read(response: pb.ListMemoriesResponse) -> Page:
        return Page(memories=tuple(map(plain.memory_of_wire, response.memories)), cursor=response.next_page_token or None)

    return ClientRpc(MemoryServiceStub, "ListMemories", request, read)


def get(scope: ClientScope, id: str) -> ClientRpc[Memory]:
    """Returns one memory, by its id or the first characters of it (four or more). Raises `NotFound`."""
    request = pb.GetMemoryRequest(scope=scope_to_wire(scope), id=checked_text("id", id))
    return ClientRpc(MemoryServiceStub, "GetMemory", request, lambda response: plain.memory_of_wire(response.memory))


def find(scope: ClientScope, id: str) -> ClientRpc[Memory | Event]:
    """Returns one memory or message, by its id, the first characters of it (four or more), or your own id of the message.
    Raises `NotFound`, and `InvalidInput` where several have it."""
    request = pb.FindRequest(scope=scope_to_wire(scope), id=checked_text("id", id))
    return ClientRpc(MemoryServiceStub, "Find", request, plain.thing_of_wire)


def update(scope: ClientScope, id: str, text: str | None = None, /, **changes: Any) -> ClientRpc[Memory]:
    """Changes fields of a memory and returns it; None takes a field away. Raises `NotFound`, `InvalidInput`."""
    request = pb.UpdateMemoryRequest(
        scope=scope_to_wire(scope),
        id=checked_text("id", id),
        text=checked_text("text", text, optional=True),
        fields=fields_to_wire(changes, scope.zone),
    )
    return ClientRpc(MemoryServiceStub, "UpdateMemory", request, lambda response: plain.memory_of_wire(response.memory))


def history(scope: ClientScope, id: str) -> ClientRpc[tuple[Memory, ...]]:
    """Returns a memory with all that superseded it or that it superseded, oldest first. Raises `NotFound`."""
    request = pb.GetMemoryHistoryRequest(scope=scope_to_wire(scope), id=checked_text("id", id))

    def read(response: pb.GetMemoryHistoryResponse) -> tuple[Memory, ...]:
        return tuple(map(plain.memory_of_wire, response.memories))

    return ClientRpc(MemoryServiceStub, "GetMemoryHistory", request, read)


def messages(
    scope: ClientScope, session: str | None = None, *, filters: Any = None, limit: int = 50, cursor: str | None = None
) -> ClientRpc[MessagePage]:
    """Returns a page of `limit` (1 to 1,000) stored messages, newest first, of one session or of all. Long texts are cut to
    their beginning; `find` returns the whole."""
    request = pb.ListMessagesRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session, optional=True),
        filters=_filters(filters, scope),
        page_size=_size(limit),
        page_token=_token(cursor),
    )

    def read(response: pb.ListMessagesResponse) -> MessagePage:
        return MessagePage(
            messages=tuple(map(plain.message_of_wire, response.messages)), cursor=response.next_page_token or None
        )

    return ClientRpc(EventServiceStub, "ListMessages", request, read)


def sessions(scope: ClientScope, *, limit: int = 50, cursor: str | None = None) -> ClientRpc[SessionPage]:
    """Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first."""
    request = pb.ListSessionsRequest(scope=scope_to_wire(scope), page_size=_size(limit), page_token=_token(cursor))

    def read(response: pb.ListSessionsResponse) -> SessionPage:
        return SessionPage(
            sessions=tuple(map(plain.session_of_wire, response.sessions)), cursor=response.next_page_token or None
        )

    return ClientRpc(EventServiceStub, "ListSessions", request, read)


def users(scope: ClientScope, *, limit: int = 50, cursor: str | None = None) -> ClientRpc[UserPage]:
    """Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored. Raises `InvalidInput` where the
    client is one of a user."""
    request = pb.ListUsersRequest(scope=scope_to_wire(scope), page_size=_size(limit), page_token=_token(cursor))

    def read(response: pb.ListUsersResponse) -> UserPage:
        return UserPage(users=tuple(map(plain.user_of_wire, response.users)), cursor=response.next_page_token or None)

    return ClientRpc(MemoryServiceStub, "ListUsers", request, read)


def agents(scope: ClientScope, *, limit: int = 50, cursor: str | None = None) -> ClientRpc[AgentPage]:
    """Returns a page of `limit` (1 to 1,000) of the org's agents with what each has stored. Raises `InvalidInput`, and
    `GermaneError` where the key doesn't allow all agents of the org."""
    request = pb.ListAgentsRequest(org_id=scope.org, page_size=_size(limit), page_token=_token(cursor))

    def read(response: pb.ListAgentsResponse) -> AgentPage:
        return AgentPage(agents=tuple(map(plain.agent_of_wire, response.agents)), cursor=response.next_page_token or None)

    return ClientRpc(MemoryServiceStub, "ListAgents", request, read)


def why(scope: ClientScope, /, id: str, messages: Sequence[Any] = (), *, model: str, **options: Any) -> ClientRpc[Why]:
    """Assembles `messages` anew and returns what that did with one stored thing, and the reason. `id` is as in `find`;
    `options` are those of `assemble`, such as `query` and `session`. Raises `InvalidInput`."""
    call = assemble(scope, list(messages), model=model, **options)
    call.copy_messages()
    with sendable():
        request = pb.WhyRequest(request=call.build(), id=checked_text("id", id))
    return ClientRpc(MemoryServiceStub, "Why", request, plain.why_of_wire)


def stats(scope: ClientScope) -> ClientRpc[Stats]:
    """Returns how much the scope sees: memories by kind, messages, sessions, users, bytes, times."""
    return ClientRpc(MemoryServiceStub, "GetStats", pb.GetStatsRequest(scope=scope_to_wire(scope)), plain.stats_of_wire)


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

    return ClientRpc(ContextAssemblyServiceStub, "AssembleContext", request, lambda _: None, error=wrong)


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
            return InvalidInput("target: what answers there is another service than germane's: correct the address")
    return germane_error(error)


def _filters(filters: Any, scope: ClientScope) -> filters_pb2.Filters | None:
    return None if filters is None else filters_to_wire(filters, scope.zone)


def _size(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= PAGE.maximum:
        raise InvalidInput(f"limit must be a whole number, 1 to {PAGE.maximum:,}, not {quoted(limit)}")
    return limit


def _token(cursor: object) -> str:
    return checked_text("cursor", cursor, optional=True)
