"""Faults behind the port: the response has a reason, and no text holds any content."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from germane import Germane, Scope
from germane.api.agent import Agent
from germane.clock import Clock
from germane.errors import EmbedderError, StoreCorrupt, StoreUnavailable
from germane.grpc.messages import context_pb2
from germane.grpc.messages import memory_pb2 as pb
from germane.grpc.server import assembly_servicer
from germane.grpc.server.admission import Ports
from germane.grpc.server.call import Method, RpcCall, UnobservedRpc
from germane.grpc.server.interceptor import ServerInterceptor
from germane.settings.serving import ServiceSettings
from germane.types.context import Metadata
from germane_testing.faults import Fault, Garbage, Hang, Raise, faulty
from support.listening import SCOPE, Wire, asked, calling, ibex_asked, listening, opened, refused, said

CANARY = "hunter2 said the canary"
ERRORS: list[type[BaseException]] = [
    StoreUnavailable,
    StoreCorrupt,
    EmbedderError,
    OSError,
    ValueError,
    KeyError,
    RuntimeError,
    MemoryError,
    RecursionError,
    TimeoutError,
    asyncio.CancelledError,
    StopAsyncIteration,
]
POINTS = ("ask.CurrentDirective", "ask.AllowedIds", "memories.search", "ask.PinnedMemories", "events.search")


class Broken:
    """A store that has the fault, or whose scoped stores have it."""

    def __init__(self, store: Any, fault: Fault, points: tuple[str, ...]) -> None:
        self._store, self._fault, self._points = store, fault, points

    def within(self, scope: Scope) -> Any:
        return faulty(self._store.within(scope), self._fault, *self._points)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the target, so that `isinstance` finds what the target can do."""
        return type(self._store)

    def __getattr__(self, name: str) -> Any:
        return getattr(faulty(self._store, self._fault, name) if name in self._points else self._store, name)


@contextmanager
def broken(germane: Germane, fault: Fault, *points: str) -> Iterator[None]:
    parts = germane._parts
    assert parts is not None
    germane._parts = replace(parts, store=Broken(parts.store, fault, points))
    try:
        yield
    finally:
        germane._parts = parts


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with opened(tmp_path) as germane:
        yield germane


@pytest.fixture
async def wire(germane: Germane) -> AsyncIterator[Wire]:
    async with listening(germane) as wire:
        yield wire


@pytest.mark.requirement("ENGINE-2", "RPC-4")
@pytest.mark.parametrize("point", POINTS)
async def test_every_exception_at_every_stage_is_an_answer(germane: Germane, wire: Wire, point: str) -> None:
    """With the caller's messages, under both names; no text of it comes through."""
    for error in ERRORS:
        with broken(germane, Raise(error(CANARY)), point):
            request = asked(said(f"When does the warehouse open, {error.__name__}?"))
            answer = await wire.assembly.AssembleContext(request)
            other = await wire.ibex.AssembleContext(ibex_asked(f"When, {error.__name__}?"))
        assert answer.messages[-1] == request.messages[0]
        assert answer.metadata.degradation_level or point == "ask.AllowedIds"
        assert "canary" not in str(answer) + str(other)


@pytest.mark.requirement("ENGINE-2")
async def test_a_store_that_hangs_costs_its_memories_and_not_the_answer(germane: Germane, wire: Wire) -> None:
    """And not the directive either, as it was last known."""
    await wire.assembly.AssembleContext(asked())
    with broken(germane, Hang()):
        answer = await wire.assembly.AssembleContext(asked(said("Is the warehouse far?"), deadline_ms=48))
    assert answer.messages[-1] == said("Is the warehouse far?")
    assert answer.metadata.degradation_level in (1, 2)
    assert "Answer kindly." in answer.messages[0].content


@pytest.mark.requirement("ENGINE-2", "RPC-4")
@pytest.mark.parametrize("error", ERRORS)
async def test_an_engine_that_raises_is_answered_for(wire: Wire, monkeypatch: pytest.MonkeyPatch, error: type) -> None:
    """It never does; were it to, the messages come back, and the directive as it was last known."""

    async def assemble(*_: Any, **__: Any) -> None:
        raise error(CANARY)

    monkeypatch.setattr(Agent, "assemble", assemble)
    answer = await wire.assembly.AssembleContext(asked())
    name = "RuntimeError" if error is StopAsyncIteration else error.__name__
    assert answer.metadata.fallback_reason in (f"assembly_error:{error.__name__}", f"assembly_error:{name}")
    assert "Answer kindly." in answer.messages[0].content
    assert (list(answer.messages[1:]), answer.metadata.degradation_level) == ([said("When does the warehouse open?")], 2)
    assert (await wire.ibex.AssembleContext(ibex_asked())).metadata.fallback_reason.startswith("assembly_error:")


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize("blocking", [False, True])
async def test_an_engine_that_hangs_is_left_behind(wire: Wire, monkeypatch: pytest.MonkeyPatch, blocking: bool) -> None:
    """Whether it waits for ever or keeps its loop busy: the port has a loop of its own, and knows the directive."""
    release = asyncio.Event()

    async def assemble(*_: Any, **__: Any) -> None:
        while blocking and not stop:
            time.sleep(0.001)  # noqa: ASYNC251
        await release.wait()

    stop: list[bool] = []
    monkeypatch.setattr(Agent, "assemble", assemble)
    if blocking:
        answer = await asyncio.to_thread(blocked_call, wire.server.address.port, stop)
    else:
        answer = await wire.assembly.AssembleContext(asked(deadline_ms=48), timeout=60)
    assert answer.metadata.fallback_reason == "assembly_timeout"
    assert "Answer kindly." in answer.messages[0].content
    assert list(answer.messages[1:]) == [said("When does the warehouse open?")]


@pytest.mark.requirement("ENGINE-2")
async def test_where_even_the_directive_cannot_be_written_the_messages_come_back(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As they were, with the first reason."""

    async def fails(*_: Any, **__: Any) -> None:
        raise OSError(CANARY)

    monkeypatch.setattr(Agent, "assemble", fails)
    monkeypatch.setattr(Agent, "fallback", fails)
    answer = await wire.assembly.AssembleContext(asked())
    assert list(answer.messages) == [said("When does the warehouse open?")]
    assert (answer.metadata.degradation_level, answer.metadata.fallback_reason) == (3, "assembly_error:OSError")


def blocked_call(port: int, stop: list[bool]) -> context_pb2.AssembleContextResponse:
    """From a thread, as the loop here is what hangs."""
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        call = channel.unary_unary(
            "/germane.context.v1.ContextAssemblyService/AssembleContext",
            request_serializer=context_pb2.AssembleContextRequest.SerializeToString,
            response_deserializer=context_pb2.AssembleContextResponse.FromString,
        )
        try:
            answer: context_pb2.AssembleContextResponse = call(asked(deadline_ms=48), timeout=30)
        finally:
            stop.append(True)
    return answer


@pytest.mark.requirement("RPC-3")
async def test_less_time_than_the_reserve_is_answered_at_once(wire: Wire) -> None:
    """With the directive or without; `deadline_ms` and the caller's own deadline alike."""
    await wire.assembly.AssembleContext(asked())
    answer = await wire.assembly.AssembleContext(asked(said("So?"), deadline_ms=1))
    assert answer.messages[-1] == said("So?")
    assert answer.metadata.memories_injected == 0
    assert answer.metadata.fallback_reason


@pytest.mark.requirement("ENGINE-10", "RPC-3")
@pytest.mark.parametrize(("settings", "asked_for", "seconds"), [({}, 0, 0.048), ({"deadline_ms": 200}, 0, 0.2), ({}, 20, 0.02)])
async def test_the_service_has_a_deadline_of_its_own_that_a_setting_changes(
    germane: Germane, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], asked_for: int, seconds: float
) -> None:
    """48 ms; less where the caller asks for less."""
    given = list[float]()
    due = RpcCall.due

    def noting(call: RpcCall, seconds: float) -> float:
        given.append(seconds)
        return due(call, seconds)

    monkeypatch.setattr(RpcCall, "due", noting)
    own = settings.get("deadline_ms", ServiceSettings().deadline_ms)
    async with listening(germane, deadline_ms=own) as wire:
        await wire.assembly.AssembleContext(asked(deadline_ms=asked_for))
        await wire.assembly.AssembleContext(asked(deadline_ms=60_000))
    assert given == [seconds, own / 1000]


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize(
    ("ends", "seconds", "due"), [(None, 0.048, 10.048), (10.045, 0.048, 10.037), (99.0, 0.048, 10.048), (10.045, 0.02, 10.02)]
)
def test_an_answer_is_due_in_time_to_travel(ends: float | None, seconds: float, due: float) -> None:
    """The server's own limit, or 8 ms before the caller's."""
    assert RpcCall("read", UnobservedRpc(), arrived=10.0, ends=ends).due(seconds) == pytest.approx(due)


@pytest.mark.requirement("RPC-4")
async def test_a_client_that_goes_away_leaves_nothing(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work for the call is cancelled on both loops."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def assemble(*_: Any, **__: Any) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(Agent, "assemble", assemble)
    monkeypatch.setattr(RpcCall, "due", lambda call, _: call.arrived + 3600)
    call = wire.assembly.AssembleContext(asked())
    await begun.wait()
    call.cancel()
    async with asyncio.timeout(60):
        await ended.wait()
        await wire.server.stop(3600)  # as soon as nothing runs any more


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Raise(StoreUnavailable(CANARY)), "UNAVAILABLE"),
        (Raise(StoreCorrupt(CANARY)), "DATA_LOSS"),
        (Raise(OSError(CANARY)), "INTERNAL"),
        (Raise(asyncio.CancelledError(CANARY)), "INTERNAL"),
        (Garbage(7), "INTERNAL"),
    ],
)
async def test_other_rpcs_fail_by_type_alone(germane: Germane, wire: Wire, fault: Fault, code: str) -> None:
    """Unary and streaming: no content, no path."""
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("ask.SeenMemories", lambda: calling(wire, "memories.get", id="x")),
        ("dump", lambda: wire.memories.Export(pb.ExportRequest(scope=SCOPE), timeout=60)),
        ("commit", lambda: wire.memories.Remember(pb.RememberRequest(scope=SCOPE, text="x"), timeout=60)),
    ]
    for point, call in calls:
        with broken(germane, fault, point):
            found, text = await refused(call())
        assert found == code, point
        assert "canary" not in text


async def test_too_many_calls_at_once_are_answered_without_the_engine(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond what could be in time, the messages go back at once, with the directive."""
    release = asyncio.Event()

    async def assemble(*_: Any, **__: Any) -> None:
        await release.wait()

    monkeypatch.setattr(Agent, "assemble", assemble)
    monkeypatch.setattr(assembly_servicer, "_MAX_CALLS", 0)
    answer = await wire.assembly.AssembleContext(asked())
    assert (answer.metadata.fallback_reason, answer.metadata.degradation_level) == ("shed", 2)
    assert "Answer kindly." in answer.messages[0].content


class Ledger:
    """An observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str, str, str, Metadata | None]] = []

    @contextmanager
    def call(self, method: str, headers: Any = None, *, waited: float = 0.0) -> Iterator[UnobservedRpc]:
        seen = UnobservedRpc()
        try:
            yield seen
        finally:
            self.operation = seen.operation
            self.told.append((method, seen.code, seen.org, seen.agent, seen.request_id, seen.metadata))
            self.headers = headers


async def test_the_observer_is_told_of_every_call_once(germane: Germane) -> None:
    """What it was, what came of it, whose it was; of the headers those of tracing alone."""
    ledger = Ledger()
    async with listening(germane, observer=ledger) as wire:
        headers = [("traceparent", "00-1-2-01"), ("authorization", "Bearer secret")]
        await wire.assembly.AssembleContext(asked(request_id="r1"), metadata=headers)
        await refused(calling(wire, "memories.get", id="x"))
        assert ledger.told[0][:5] == ("AssembleContext", "OK", "acme", "support", "r1")
        assert ledger.told[1][:4] == ("Read", "NOT_FOUND", "acme", "support")
        assert ledger.operation == "memories.get"
        metadata = ledger.told[0][5]
        assert metadata is not None
        assert metadata.directive_injected
        await refused(wire.assembly.AssembleContext(asked(), metadata=headers))
        assert ledger.headers == {"traceparent": "00-1-2-01"}


class Late:
    """A context of a call whose time is over."""

    def time_remaining(self) -> float:
        return 0.0

    async def abort(self, code: grpc.StatusCode, details: str) -> None:
        raise RuntimeError(code.name)


async def test_a_call_whose_time_is_over_costs_nothing_more() -> None:
    """Under load the oldest come first: their callers have gone."""

    async def answer(*_: Any) -> Any:
        raise AssertionError("nobody waits for this")

    ports = Ports(keys=None, clock=Clock())
    gate = ServerInterceptor(ports)
    method = Method(name="/a.B/C", request=context_pb2.AssembleContextRequest, right="read", unary=answer)
    with pytest.raises(RuntimeError, match="DEADLINE_EXCEEDED"):
        await gate._answer(method, None, 0.0, Late())  # type: ignore[arg-type]
    assert (ports.slots.traffic.refused["late"], ports.slots.traffic.admitted) == (1, 0)
