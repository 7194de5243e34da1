"""Assembly servicer: the RPC `AssembleContext` of both contracts, which answers in time whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from google.protobuf.message import Message as ProtobufMessage

from germane.api.workers.threads import by_turns
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.messages import context_pb2, ibex_pb2
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall
from germane.grpc.server.from_wire import WireMessage, filters, json_list, message_dict, moment
from germane.grpc.server.port import LoopBridge
from germane.grpc.server.refusals import Refused, invalid
from germane.grpc.server.to_wire import ibex_metadata, metadata, wire_text
from germane.kinds.keys.value import Right
from germane.types.budget import parse_effort
from germane.types.checks import check_size, check_text
from germane.types.context import Context, Metadata
from germane.types.json_text import JsonText
from germane.types.limits import MESSAGES, NAME, TOOL_CHARACTERS
from germane.types.message import Message, system_text
from germane.types.plan import uuid7

GRACE = 0.002
"""Seconds after the deadline at which the port stops waiting for the engine, or for a sibling. The engine keeps the deadline by
itself, unless its loop is blocked."""
_MIN_SECONDS = 0.001
"""The least time that the engine is given: enough for the directive from its cache."""
_MAX_LOGGED_ID = 128
"""Characters of a caller's request id that are logged."""
_FALLBACK_OPTIONS = ("model", "provider", "session", "strategy", "window", "like", "system", "filters")
"""The arguments of `Agent.assemble` that `Agent.fallback` takes too."""
_PATHS: Mapping[str, str] = MappingProxyType(
    {"org": "org_id", "agent": "agent_id", "user": "user_id", "session": "session_id", "max_tokens": "available_tokens"}
    | {"tools": "options.tools_json", "system": "options.system_json", "task": "options.task_id"}
    | {name: f"options.{name}" for name in ("provider", "strategy", "query", "filters", "zone", "at", "effort")}
    | {name: f"options.{name}" for name in ("blocks", "like", "window")}
)
_MAX_CALLS, _MAX_CALLS_OF_ORG = 96, 32
"""Calls that may wait for the engine, in all and of one org. The engine itself refuses what would be late, and still answers
with the directive; with more calls than these even that answer would be late."""


class _NotAssembled(Exception):
    """The engine gave no context; the text becomes the response's `fallback_reason`."""


class Assembling(Protocol):
    """What an assembly is asked for. `options` are the arguments of `Agent.assemble` besides messages and deadline. `deadline`
    is in seconds; 0 means the server's default."""

    @property
    def agent(self) -> str: ...
    @property
    def user(self) -> str: ...
    @property
    def zone(self) -> str: ...
    @property
    def messages(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def options(self) -> Mapping[str, Any]: ...
    @property
    def deadline(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAssembly:
    """An assembly that is asked for over HTTP (`Assembling`)."""

    agent: str
    user: str
    zone: str
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    deadline: float = 0.0


class Assemblies:
    """Runs assemblies for callers of the ports: on the engine's loop, and on the ports' where that one fails. A call must be
    answered `seconds` after its arrival, unless its caller wants the answer earlier."""

    def __init__(self, resolver: AgentResolver, bridge: LoopBridge, clock: Clock, seconds: float) -> None:
        self._resolver, self._bridge, self._clock, self._seconds = resolver, bridge, clock, seconds
        self._waiting: Counter[str] = Counter()
        self._running: Counter[str] = Counter()

    async def context(self, org: str, arguments: Assembling, call: RpcCall) -> Context | str:
        """Returns the engine's context; where that fails for a reason that isn't the caller's, the caller's messages with the
        cached directive; where that fails too, the reason (ENGINE-2). Raises `InvalidInput` and `Refused`."""
        try:
            return await self._assembled(org, arguments, self.due(call, arguments.deadline))
        except _NotAssembled as failure:
            reason = str(failure)
            with suppress(Exception):
                return await self._directive_only(org, arguments, reason)
            return reason

    def due(self, call: RpcCall, asked: float | None) -> float:
        """When the answer is due on the steady clock. `asked` are the seconds that the caller allows; None or 0 for the usual
        time."""
        return call.due(min(self._seconds, asked) if asked and asked > 0 else self._seconds)

    async def _assembled(self, org: str, arguments: Assembling, due: float) -> Context:
        """Returns the engine's context. Raises `_NotAssembled` where the engine fails, takes too long or has too many calls,
        and `InvalidInput` and `Refused`."""
        if any(counts[org] >= _MAX_CALLS_OF_ORG or counts.total() >= _MAX_CALLS for counts in (self._waiting, self._running)):
            raise _NotAssembled("shed")
        remaining = due - self._clock.steady()
        self._waiting[org] += 1
        task = asyncio.create_task(self._bridge.on_engine(lambda: self._on_engine(org, arguments, due)))
        try:
            await asyncio.wait([task], timeout=max(_MIN_SECONDS, remaining) + GRACE)
        finally:
            _decrement(self._waiting, org)
            if not task.done():
                task.cancel()
        if not task.done():
            raise _NotAssembled("assembly_timeout")
        if task.cancelled():
            raise _NotAssembled("assembly_error:CancelledError")
        try:
            return task.result()
        except (InvalidInput, Refused):
            raise
        except Exception as error:
            raise _NotAssembled(f"assembly_error:{type(error).__name__}") from None
        finally:
            del task  # the traceback of its error holds this frame, as in loop_bridge.py

    async def _directive_only(self, org: str, arguments: Assembling, reason: str) -> Context:
        """Returns the messages with the cached directive. It runs here, on the port's loop, because the engine's may hang."""
        agent = self._resolver.agent(org, arguments.agent, user=arguments.user, zone=arguments.zone)
        options = {name: value for name, value in arguments.options.items() if name in _FALLBACK_OPTIONS}
        return await agent.fallback(arguments.messages, reason=reason, **options)

    async def _on_engine(self, org: str, arguments: Assembling, due: float) -> Context:
        """Assembles on the engine's loop. A call that was cancelled and doesn't end still counts as running."""
        self._running[org] += 1
        try:
            agent = self._resolver.agent(org, arguments.agent, user=arguments.user, zone=arguments.zone)
            seconds = max(_MIN_SECONDS, due - self._clock.steady())
            return await agent.assemble(arguments.messages, deadline=seconds, **arguments.options)
        finally:
            _decrement(self._running, org)


class AssemblyServicer:
    """Runs on the port's loop; the assembly runs on the engine's. `responses` writes the responses of one contract.

    Where an assembly fails for a reason that isn't the caller's, the response holds the caller's messages with the cached
    directive or, where that fails too, the messages alone (ENGINE-2).
    """

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"AssembleContext": "read"})
    paths: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType({"AssembleContext": _PATHS})

    def __init__(self, resolver: AgentResolver, responses: Responses, assemblies: Assemblies, clock: Clock) -> None:
        self._resolver, self._responses, self._assemblies, self._clock = resolver, responses, assemblies, clock

    async def assemble_context(self, request: Request, call: RpcCall) -> Response:
        """Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""
        request_id = request.request_id or uuid7(int(self._clock.now().timestamp() * 1000))
        call.record.request_id = request_id[:_MAX_LOGGED_ID]
        org = self._resolver.authorise(call, org=request.org_id, agent=request.agent_id)
        arguments = await AssembleArguments.of(request)
        context = await self._assemblies.context(org, arguments, call)
        reason = context if isinstance(context, str) else ""
        if not isinstance(context, str):
            call.record.metadata = context.metadata
            try:
                return self._responses.assembled(context, arguments, request_id)
            except Exception as error:
                reason = f"assembly_error:{type(error).__name__}"
        call.record.metadata = report = unassembled(reason)
        return self._responses.unchanged(request, report, request_id)

    def due(self, call: RpcCall, asked: float | None) -> float:
        """See `Assemblies.due`."""
        return self._assemblies.due(call, asked)


def unassembled(reason: str) -> Metadata:
    """Returns what is told of a call whose messages stay as they are."""
    return Metadata(fallback_reason=reason, degradation_level=3)


def _decrement(counts: Counter[str], org: str) -> None:
    """Drops an org whose count falls to 0, so that the counter stays small."""
    counts[org] -= 1
    if not counts[org]:
        del counts[org]


# The request of either contract as the arguments of `Agent.assemble`.


Request: TypeAlias = context_pb2.AssembleContextRequest | ibex_pb2.AssembleContextRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleArguments:
    """A parsed request, which an assembly is asked for (`Assembling`)."""

    agent: str
    conversation: WireConversation
    options: Mapping[str, Any]
    provider: str = "openai"
    user: str = ""
    zone: str = ""
    deadline: float = 0.0
    explain: bool = False

    @property
    def messages(self) -> Sequence[Mapping[str, Any]]:
        return self.conversation.raw

    @classmethod
    async def of(cls, request: Request) -> AssembleArguments:
        """Raises `Refused`, naming the first field that is missing or can't be read, and `InvalidInput` for filters and
        limits."""
        if not request.model:
            raise invalid("model is missing: say which one is about to be called, such as gpt-4o")
        check_text("model", request.model, NAME)
        query = request.options.query if isinstance(request, context_pb2.AssembleContextRequest) else ""
        if not request.messages and not query:
            raise invalid("messages is missing: give at least one, or options.query")
        options: dict[str, Any] = {"model": request.model, "session": request.session_id or None}
        if isinstance(request, ibex_pb2.AssembleContextRequest):
            return cls(
                agent=request.agent_id,
                conversation=await WireConversation.of(request.messages, "openai"),
                options=options | {"provider": "openai", "strategy": "verbose"},
            )
        wire = request.options
        for name, value in (
            ("available_tokens", request.available_tokens),
            ("deadline_ms", request.deadline_ms),
            ("options.window", wire.window),
        ):
            if value < 0:
                raise invalid(f"{name} must be 0 or more")
        provider = wire.provider or "openai"
        return cls(
            agent=request.agent_id,
            conversation=await WireConversation.of(request.messages, provider),
            options=options
            | {
                "provider": provider,
                "max_tokens": request.available_tokens or None,
                "query": query or None,
                "strategy": wire.strategy or "default",
                "at": moment(wire.at, "options.at") if wire.HasField("at") else None,
                "tools": _tools(wire.tools_json),
                "filters": filters(wire.filters, "options.filters.") if wire.HasField("filters") else None,
                "effort": parse_effort(check_text("effort", wire.effort, NAME)) if wire.effort else None,
                "blocks": tuple(wire.blocks),
                "task": _task(wire),
                "like": wire.like or None,
                "window": wire.window or None,
                "system": JsonText().read(wire.system_json, "options.system_json") if wire.system_json else None,
            },
            provider=provider,
            user=request.user_id,
            zone=wire.zone,
            deadline=request.deadline_ms / 1000,
            explain=wire.explain,
        )


def _task(wire: context_pb2.AssembleOptions) -> str | bool | None:
    if wire.task_id and wire.without_tasks:
        raise invalid("options.task_id names a task and options.without_tasks leaves all out: give one of them")
    return False if wire.without_tasks else wire.task_id or None


def _tools(written: str) -> list[Any] | None:
    check_size("options.tools_json", len(written), TOOL_CHARACTERS)
    return json_list(written, "options.tools_json") if written else None


# The response of germane's contract or of the ibex contract.


Response: TypeAlias = context_pb2.AssembleContextResponse | ibex_pb2.AssembleContextResponse


class Responses(Protocol):
    """Makes the responses of one contract."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        """Returns the response with an assembled context."""

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        """Returns the response with the request's own messages and system prompt."""


class GermaneResponses:
    """`germane.context.v1`."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        response = context_pb2.AssembleContextResponse(
            messages=arguments.conversation.to_wire(context.messages, context_pb2.Message),
            metadata=metadata(context.metadata, request_id),
        )
        if arguments.provider != "openai" and context.system is not None:
            response.system_json = json.dumps(context.system)
        if arguments.explain:
            response.explanation = wire_text(context.explain())
        return response

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        assert isinstance(request, context_pb2.AssembleContextRequest)
        own = request.options.system_json
        apart = own if request.options.provider not in ("", "openai") else ""
        response = context_pb2.AssembleContextResponse(system_json=apart, metadata=metadata(report, request_id))
        if own and not apart and (said := system_text(json.loads(own))):
            response.messages.add(role="system", content=wire_text(said))
        response.messages.extend(request.messages)
        return response


class IbexResponses:
    """`ibex.context.v1`, whose messages have only a role and a text."""

    def assembled(self, context: Context, arguments: AssembleArguments, request_id: str) -> Response:
        return ibex_pb2.AssembleContextResponse(
            messages=arguments.conversation.to_wire(context.messages, ibex_pb2.Message),
            metadata=ibex_metadata(context.metadata),
        )

    def unchanged(self, request: Request, report: Metadata, request_id: str) -> Response:
        assert isinstance(request, ibex_pb2.AssembleContextRequest)
        return ibex_pb2.AssembleContextResponse(messages=request.messages, metadata=ibex_metadata(report))


# A request's messages on their way to the API and back. An unchanged message is returned as the very wire message that
# came, without encoding it again. Of a conversation that is too long to be parsed in time only the last messages are
# parsed; the rest becomes one text whose tokens are counted (RPC-4).


M = TypeVar("M", bound=ProtobufMessage)

_MAX_PARSED = 400
"""Messages that are all parsed, which takes a few milliseconds."""
_PARSED_OF_LONG = 100
"""Of a conversation with more messages, how many of the last are parsed."""


class WireConversation:
    """`raw` are the messages for the API, in the shape of a provider; each stands for the range of `sent` at the same place in
    `ranges`."""

    def __init__(
        self, sent: Sequence[Any], raw: Sequence[dict[str, Any]], ranges: Sequence[tuple[int, int]], *, uses_json: bool
    ) -> None:
        self.raw = tuple(raw)
        self._sent, self._ranges, self._uses_json = sent, ranges, uses_json

    @classmethod
    async def of(cls, sent: Sequence[Any], provider: str) -> WireConversation:
        """Reads a conversation in the shape of `provider`; others have their turn meanwhile. Only conversations in the shape of
        `openai` are shortened, because only there each message is independent of the others. Raises `InvalidInput` for too many
        messages, `Refused` for one that can't be parsed."""
        check_size("messages", len(sent), MESSAGES)
        texts = JsonText()
        first, last = _condensed_range(sent) if provider == "openai" and len(sent) > _MAX_PARSED else (0, 0)
        raw = await by_turns(sent[:first], lambda wire, index: message_dict(wire, index, texts))
        ranges = [(index, index + 1) for index in range(first)]
        if last > first:
            condensed = await by_turns(sent[first:last], lambda wire, _: _as_text(wire))
            raw.append({"role": "user", "content": "\n\n".join(condensed)})
            ranges.append((first, last))
        raw += await by_turns(sent[last:], lambda wire, index: message_dict(wire, last + index, texts))
        ranges += [(index, index + 1) for index in range(last, len(sent))]
        return cls(sent, raw, ranges, uses_json=provider != "openai" or any(getattr(wire, "json", "") for wire in sent))

    def to_wire(self, messages: Sequence[Mapping[str, Any] | Message], make: Callable[..., M]) -> Iterator[M]:
        """Yields the wire messages of an assembled context, the request's own where they are unchanged.

        `make` makes a wire message of `role`, `content` and, where these two can't hold the message, `json`.
        """
        ranges = {id(raw): bounds for raw, bounds in zip(self.raw, self._ranges, strict=True)}
        for raw in messages:
            bounds = ranges.get(id(raw))
            if bounds is None:
                yield self._made(raw, make)
            else:
                yield from self._sent[bounds[0] : bounds[1]]

    def _made(self, raw: Mapping[str, Any] | Message, make: Callable[..., M]) -> M:
        if isinstance(raw, Message):
            return make(role=raw.role, content=wire_text(raw.content))
        content = raw.get("content")
        plain = isinstance(content, str)
        fields = {
            "role": wire_text(str(raw.get("role", ""))),
            "content": wire_text(content) if isinstance(content, str) else "",
        }
        if self._uses_json or not plain or len(raw) > 2:
            fields["json"] = json.dumps(raw)
        return make(**fields)


def _condensed_range(sent: Sequence[WireMessage]) -> tuple[int, int]:
    """Returns the range of messages that become one text: from the end of the leading system messages to the last
    `_PARSED_OF_LONG`, or later, so that no tool result is separated from its call. Returns (0, 0) where that leaves nothing."""
    first = 0
    while first < len(sent) and sent[first].role == "system":
        first += 1
    last = max(first, len(sent) - _PARSED_OF_LONG)
    while last < len(sent) and _may_depend(sent[last], last):
        last += 1
    return (first, last) if last < len(sent) else (0, 0)


def _may_depend(wire: WireMessage, index: int) -> bool:
    """Whether the message may belong to the one before it, as a tool's result belongs to its call."""
    return message_dict(wire, index, JsonText()).get("role") not in ("user", "system")


def _as_text(wire: WireMessage) -> str:
    """Costs about as many tokens as the message itself: its role and envelope cost four."""
    return f"- {wire.role or 'json'}:\n{getattr(wire, 'json', '') or wire.content}"
