"""RPCs: what the client sends besides its quiet `assemble`: a request, its RPC, and the reader of the response.

No model call waits for these, so they raise: `germane_error` turns a gRPC status into one of germane's errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from germane.api.remote.answer import Answer
from germane.api.remote.fallback import CALLER_ERRORS, Fallback
from germane.api.remote.operation_call import ClientScope, OperationCall
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
from germane.grpc.client.assembly import AssembleCall
from germane.grpc.client.channel import grpc
from germane.grpc.client.conversation import MAX_BYTES, Altered, Oversized
from germane.grpc.messages import context_pb2, memory_pb2, operation_pb2

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


def operation(scope: ClientScope, call: OperationCall) -> ClientRpc[Any]:
    """Calls an operation, whose result comes in parts."""
    made, method = (operation_pb2.ReadRequest, "Read") if call.right == "read" else (operation_pb2.WriteRequest, "Write")
    request = made(scope=scope_to_wire(scope), operation=call.name, arguments=call.arguments)

    def read(parts: Sequence[Any]) -> Any:
        return call.read(b"".join(part.result for part in parts))

    return ClientRpc(operation_pb2.OperationServiceStub, method, request, read, streams=True)


def assemble(scope: ClientScope, messages: Sequence[Any], *, deadline: float | None = None, **asked: Any) -> ClientRpc[Answer]:
    """Assembles as the client's `assemble`, which has the other arguments, but raises where that answers with the caller's own
    messages. For a program that a person uses. `deadline` are the seconds until the service answers (default: its own)."""
    call = AssembleCall(scope, messages, **asked)
    call.copy_messages()
    try:
        request = call.build()
    except Oversized:
        problem = f"messages hold more than {MAX_BYTES >> 20} MiB of text"
        raise InvalidInput(problem, advice="give them in several calls") from None
    request.deadline_ms = 0 if deadline is None else max(1, round(deadline * 1000))

    def read(response: context_pb2.AssembleContextResponse) -> Answer:
        try:
            return call.answer(response)
        except Altered:
            raise InvalidInput(
                "aren't in the shape of the model's provider", path="messages", advice="name that provider"
            ) from None

    return ClientRpc(context_pb2.ContextAssemblyServiceStub, "AssembleContext", request, read)


def check(scope: ClientScope, *, model: str = "gpt-4o", strategy: str | None = None) -> ClientRpc[None]:
    """See the client's `check`."""
    asked = [{"role": "user", "content": "check"}]
    request = AssembleCall(scope, asked, model=model, strategy=strategy, max_tokens=1).build()

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
def statuses_as_fallbacks() -> Iterator[None]:
    """Raises `Fallback` in the place of a gRPC status."""
    try:
        yield
    except grpc.RpcError as error:
        code = error.code() if callable(getattr(error, "code", None)) else None
        name = getattr(code, "name", "UNKNOWN")
        hint = f"{str(error.details())[:200]!r}" if name in CALLER_ERRORS else ""
        raise Fallback(f"grpc_error:{name}", hint) from error


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
