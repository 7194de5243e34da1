"""A busy worker's assemblies are answered by its sibling with the least to do, whatever happens to that one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import grpc
import pytest

from germane.clock import Clock
from germane.grpc.handover.hand_over import HandOver
from germane.grpc.handover.siblings import Siblings, WorkerPlace
from germane.grpc.messages import context_pb2, ibex_pb2
from germane.grpc.server.assembly_servicer import AssemblyServicer
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, UnobservedRpc
from germane.grpc.server.refusals import Refused, invalid
from germane.kinds.keys.value import Grant
from support.listening import asked, ibex_asked, listening, opened

CLOCK = Clock(now=lambda: datetime(2026, 1, 1, tzinfo=UTC), steady=time.monotonic)
CONTRACTS: list[Any] = [context_pb2, ibex_pb2]


class Own:
    """An assembly servicer that answers with its name once `go` is set."""

    rights = AssemblyServicer.rights

    def __init__(self, name: str, contract: Any) -> None:
        self._name, self._contract = name, contract
        self.go, self.orgs, self.cancelled = asyncio.Event(), list[str](), asyncio.Event()
        self.error: Exception | None = None

    def due(self, call: RpcCall, asked: float) -> float:
        return call.due(0.048)

    async def assemble_context(self, request: Any, call: RpcCall) -> Any:
        self.orgs.append(request.org_id)
        if self.error is not None:
            raise self.error
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        told = self._contract.InjectionMetadata(memories_injected=1, memory_ids=["m"])
        return self._contract.AssembleContextResponse(messages=[{"role": "system", "content": self._name}], metadata=told)


class Worker:
    def __init__(self, place: WorkerPlace, contract: Any = context_pb2) -> None:
        self.siblings, self.own = Siblings(place), Own(f"worker {place.index}", contract)
        service = contract.DESCRIPTOR.services_by_name["ContextAssemblyService"]
        own = cast("AssemblyServicer", self.own)
        self.front = HandOver(own, service, AgentResolver(cast("Any", None)), self.siblings, CLOCK)

    async def ask(self, request: Any = None, call: RpcCall | None = None) -> str:
        response: Any = await self.front.assemble_context(request or asked(), call or new_call())
        return str(response.messages[0].content)


def new_call(*, arrives_in: float = 10.0) -> RpcCall:
    """A call whose deadline is 48 ms after an arrival that is still to come, so that no test waits for it by accident."""
    return RpcCall("read", UnobservedRpc(), arrived=time.monotonic() + arrives_in, ends=None)


def _handed_over(*, answered: int = 0, lost: int = 0) -> dict[str, int]:
    return {"answered": answered, "lost": lost}


async def until(true: Any) -> None:
    """Lets the event loop run until `true()`."""
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0)


@asynccontextmanager
async def two_workers(folder: Path, contract: Any = context_pb2) -> AsyncIterator[tuple[Worker, Worker]]:
    """Two workers that are connected; the first runs one assembly."""
    workers = [Worker(WorkerPlace(index=index, count=2, folder=folder), contract) for index in range(2)]
    for worker in reversed(workers):
        await worker.siblings.open()
    one, other = workers
    busy = asyncio.create_task(one.ask(contract.AssembleContextRequest(org_id="acme", agent_id="support", model="gpt-4o")))
    try:
        await until(lambda: one.own.orgs and one.siblings.less_busy() is not None)
        yield one, other
    finally:
        one.own.go.set()
        assert await busy == "worker 0"
        for worker in workers:
            await worker.siblings.close()


@pytest.mark.requirement("OPS-4")
async def test_the_worker_with_least_to_do_answers(tmp_path: Path) -> None:
    """An idle worker keeps its calls; a busy one hands over while its sibling runs fewer; with equal loads it keeps them."""
    async with two_workers(tmp_path) as (one, other):
        second = asyncio.create_task(one.ask())
        await until(lambda: other.own.orgs)
        third = asyncio.create_task(one.ask())
        await until(lambda: len(one.own.orgs) == 2)
        fourth = asyncio.create_task(other.ask())
        await until(lambda: len(other.own.orgs) == 2)
        for worker in (one, other):
            worker.own.go.set()
        assert [await call for call in (second, third, fourth)] == ["worker 1", "worker 0", "worker 1"]
        assert one.siblings.less_busy() is None
        assert (one.siblings.handed_over, other.siblings.handed_over) == (_handed_over(answered=1), _handed_over())


@pytest.mark.requirement("OPS-4")
@pytest.mark.parametrize("contract", CONTRACTS, ids=["germane", "ibex"])
async def test_the_first_worker_observes_the_call_and_knows_its_key(tmp_path: Path, contract: Any) -> None:
    """The sibling gets the key's org; metrics and log of the first worker get the answer's metadata."""
    async with two_workers(tmp_path, contract) as (one, other):
        other.own.go.set()
        call = new_call()
        call.grant = Grant(key="k", org="acme", agents=None, rights=("read",))
        request = asked() if contract is context_pb2 else ibex_asked()
        request.org_id = ""
        assert await one.ask(request, call) == "worker 1"
        assert other.own.orgs == ["acme"]
        metadata: Any = call.record.metadata
        assert (call.record.org, metadata.memories_injected, metadata.memory_ids) == ("acme", 1, ("m",))
        assert call.record.request_id


@pytest.mark.requirement("OPS-4", "RPC-5")
async def test_a_key_of_another_org_is_refused_before_anything_is_handed_over(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (one, other):
        call = new_call()
        call.grant = Grant(key="k", org="other", agents=None, rights=("read",))
        with pytest.raises(Refused):
            await one.ask(call=call)
        assert other.own.orgs == []


@pytest.mark.requirement("OPS-4")
async def test_a_refusal_of_the_sibling_reaches_the_caller(tmp_path: Path) -> None:
    """With the same status and text."""
    async with two_workers(tmp_path) as (one, other):
        other.own.error = invalid("model is missing")
        with pytest.raises(Refused) as refused:
            await one.ask()
        assert (refused.value.code, refused.value.text) == (grpc.StatusCode.INVALID_ARGUMENT, "model is missing")
        assert one.siblings.handed_over == _handed_over(answered=1)


@pytest.mark.requirement("OPS-4", "ENGINE-2")
async def test_a_sibling_that_ends_costs_no_answer(tmp_path: Path) -> None:
    """The first worker answers the calls that the other had, and the later ones."""
    async with two_workers(tmp_path) as (one, other):
        handed_over = asyncio.create_task(one.ask())
        await until(lambda: other.own.orgs)
        await other.siblings.close()
        await until(lambda: len(one.own.orgs) == 2)
        one.own.go.set()
        assert [await handed_over, await one.ask()] == ["worker 0", "worker 0"]
        assert one.siblings.handed_over == _handed_over(lost=1)


@pytest.mark.requirement("OPS-4", "ENGINE-2")
async def test_a_sibling_that_hangs_costs_no_answer(tmp_path: Path) -> None:
    """After the deadline the first worker answers, gives the call up, and hands over nothing for a second."""
    async with two_workers(tmp_path) as (one, other):
        one.own.go.set()
        assert await one.ask(call=new_call(arrives_in=0.0)) == "worker 0"
        await other.own.cancelled.wait()
        with one.siblings.working():
            assert one.siblings.less_busy() is None


@pytest.mark.requirement("OPS-4")
async def test_a_caller_that_gives_up_frees_the_sibling(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (one, other):
        call = asyncio.create_task(one.ask())
        await until(lambda: other.own.orgs)
        call.cancel()
        await other.own.cancelled.wait()


@pytest.mark.requirement("OPS-4")
async def test_a_worker_whose_socket_cannot_be_made_answers_by_itself(tmp_path: Path) -> None:
    """Such as in a folder whose path is too long for a socket."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    worker = Worker(WorkerPlace(index=0, count=2, folder=folder))
    await worker.siblings.open()
    worker.own.go.set()
    assert await worker.ask() == "worker 0"
    await worker.siblings.close()


@pytest.mark.requirement("OPS-4")
async def test_two_servers_answer_one_connection(tmp_path: Path) -> None:
    """Over a real port and a real store: while the first server is busy, the second answers in full."""
    async with opened(tmp_path) as germane, listening(germane, worker=WorkerPlace(index=0, count=2, folder=tmp_path)) as wire:
        second = Worker(WorkerPlace(index=1, count=2, folder=tmp_path))
        second.own.go.set()
        await second.siblings.open()
        answers: list[Any] = []
        async with asyncio.timeout(10):
            while "worker 1" not in str(answers):
                answers = await asyncio.gather(*(wire.assembly.AssembleContext(asked()) for _ in range(8)))
        assert any("warehouse" in str(answer.messages) for answer in answers)
        assert wire.server.traffic.handed_over["answered"] >= 1
        await second.siblings.close()
