"""Neighbour: how much one org's attack delays another org's calls, over gRPC.

    python -m bench neighbour [--seconds 10] [--rate 20] [--only NAME ...] [--callers 4] [--where]

`germane serve` runs with API keys. One org with 1,000 messages asks at a steady rate. Another org attacks with its own valid
key, from several callers in a separate process, as fast as it is answered: stored texts of a million characters, oversized
model names and filters, invalid requests, nested JSON, recordings of 15 MB and of 150,000 messages; and lists at their
limits: items of reasoning, a group chat that is compacted, tools, events, mutations of a block. Target for the first org: p99
within 48 ms, and no answer that lacks a source. Waits depend on what else the machine does, and on the attacker's own process.
So the run fails by what doesn't: a call that failed, or an event loop that is kept for more than 100 ms of processor time (the
largest request, 15 MB, takes 60 in one call of protobuf's). How long threads wait for the interpreter's lock is reported, too
(`bench/held.py`). Requirement: ENGINE-4.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import grpc.aio

from bench.arrivals import Answered, offered
from bench.corpus import conversations, endless
from bench.giant import KINDS, text_of
from bench.machine import describe
from germane import Germane
from germane.grpc.messages import context_pb2, filters_pb2, memory_pb2, operation_pb2

__all__ = ["ATTACKS", "main"]

_OPTIONS = (("grpc.max_send_message_length", 20 << 20), ("grpc.max_receive_message_length", 20 << 20))
_P99, _WARM, _HELD = 48.0, 100, 1_000
_PIECE = 100.0
"""Milliseconds of processor time after which an event loop has its next turn."""
_FIGURES = "held.json"
_HELLO = "Which parcel did the fox find in Lisbon?"


class Attacker:
    """Calls of one org with a valid key."""

    def __init__(self, address: str, key: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        self._context = context_pb2.ContextAssemblyServiceStub(self._channel)
        self._events = memory_pb2.MessageServiceStub(self._channel)
        self._operations: Any = operation_pb2.OperationServiceStub(self._channel)
        self._headers = (("authorization", f"Bearer {key}"),)
        self._scope = memory_pb2.Scope(org_id="attacker", agent_id="a", user_id="u")
        self._numbers = count()

    async def assemble(self, content: str = _HELLO, model: str = "gpt-4o", user: str = "u", **given: Any) -> None:
        request = context_pb2.AssembleContextRequest(
            org_id="attacker",
            agent_id="a",
            user_id=user,
            model=model,
            messages=[context_pb2.Message(role="user", content=f"{content} {next(self._numbers)}")],
            **given,
        )
        await self._context.AssembleContext(request, metadata=self._headers)

    async def record(self, messages: list[context_pb2.Message], session: str, user: str = "u") -> None:
        scope = memory_pb2.Scope(org_id="attacker", agent_id="a", user_id=user)
        request = memory_pb2.RecordRequest(scope=scope, session_id=session, messages=messages)
        await self._events.Record(request, metadata=self._headers)

    async def read(self, operation: str, **given: Any) -> None:
        fields: Any = {"scope": self._scope, "operation": operation, "arguments": json.dumps(given).encode()}
        async for _ in self._operations.Read(operation_pb2.ReadRequest(**fields), metadata=self._headers):
            pass

    async def write(self, operation: str, **given: Any) -> None:
        fields: Any = {"scope": self._scope, "operation": operation, "arguments": json.dumps(given).encode()}
        async for _ in self._operations.Write(operation_pb2.WriteRequest(**fields), metadata=self._headers):
            pass

    async def giant_texts(self) -> None:
        """Each kind of text is stored once by its own user, then asked about."""
        number = next(self._numbers)
        kind = list(KINDS)[number % len(KINDS)]
        if number < len(KINDS):
            text = text_of(kind, 1_000_000)
            await self.record([context_pb2.Message(role="user", content=text)], "s", user=kind)
        await self.assemble(user=kind)

    async def long_model(self) -> None:
        await self.assemble(model="a." * 100_000)

    async def long_filters(self) -> None:
        tags = [f"tag {number}" for number in range(32_767)]
        await self.assemble(options=context_pb2.AssembleOptions(filters=filters_pb2.Filters(tags=tags)))

    async def bad_requests(self) -> None:
        """Requests that are each invalid in a different way."""
        at = next(self._numbers) % 4
        if at == 0:
            await self.read("memories.list", cursor="x" * 100_000)
        elif at == 1:
            await self.read("memories.list", limit=2**30)
        elif at == 2:
            await self.assemble(options=context_pb2.AssembleOptions(filters=filters_pb2.Filters(kinds=["no such kind"])))
        else:
            await self.assemble(options=context_pb2.AssembleOptions(strategy="no such strategy"))

    async def nested_json(self) -> None:
        message = context_pb2.Message(json="[" * 4_000_000)
        request = context_pb2.AssembleContextRequest(org_id="attacker", agent_id="a", model="gpt-4o", messages=[message])
        await self._context.AssembleContext(request, metadata=self._headers)

    async def record_15_mb(self) -> None:
        messages = [context_pb2.Message(role="user", content=text_of("distinct words", 150_000)) for _ in range(100)]
        await self.record(messages, f"s{next(self._numbers)}-{time.time_ns()}")

    async def record_150_000(self) -> None:
        messages = [context_pb2.Message(role="user", content=f"message {number} of many") for number in range(150_000)]
        await self.record(messages, f"s{next(self._numbers)}-{time.time_ns()}")

    async def reasoning(self) -> None:
        """Read-only, as `group_chat` and `tools` are."""
        items = [{"type": "reasoning", "id": f"rs_{number}", "summary": []} for number in range(20_000)]
        await self.read("build", model="gpt-5", provider="openai-responses", messages=items, query=_HELLO)

    async def group_chat(self) -> None:
        messages = [{"role": "user", "content": "hi"}] * 4_000
        history = {"name": "summarise"}
        await self.read("build", model="gpt-4o", messages=messages, history=history, limits={"max_tokens": 8_000})

    async def tools(self) -> None:
        fields = {f"field{number}": {"type": "string", "description": "a word or two " * 6} for number in range(300)}
        schema = {"type": "object", "properties": fields}
        tools = [{"type": "function", "function": {"name": f"f{number}", "parameters": schema}} for number in range(90)]
        await self.read("build", model="gpt-4o", messages=[{"role": "user", "content": _HELLO}], tools=tools)

    async def events(self) -> None:
        events = [{"type": "note", "content": f"note {number}"} for number in range(4_000)]
        await self.write("events.record_many", session=f"s{next(self._numbers)}-{time.time_ns()}", events=events)

    async def mutations(self) -> None:
        label = f"b{next(self._numbers)}-{time.time_ns()}"
        await self.write("blocks.create", label=label, text="x" * 90_000, limit=100_000, permission="admin")
        await self.write("blocks.edit", label=label, mutations=[{"op": "append_text", "text": "y"}] * 1_000)

    async def long_conversation(self) -> None:
        messages = [
            context_pb2.Message(role=("user", "assistant")[number % 2], content=f"hi {number}") for number in range(20_000)
        ]
        request = context_pb2.AssembleContextRequest(org_id="attacker", agent_id="a", model="gpt-4o", messages=messages)
        await self._context.AssembleContext(request, metadata=self._headers)

    async def merges(self) -> None:
        """Whole texts of a block, each rewritten from the first version, shown and taken back."""
        label, random = f"m{next(self._numbers)}-{time.time_ns()}", Random(1)
        texts = [" ".join(random.choices("abcdefgh", k=49_000)) for _ in range(3)]
        await self.write("blocks.create", label=label, text=texts[0], limit=100_000, permission="admin")
        for base, text in ((None, texts[1]), (0, texts[2])):
            with contextlib.suppress(grpc.aio.AioRpcError):  # merged, it may be longer than a block
                await self.write("blocks.edit", label=label, base=base, mutations=[{"op": "set_text", "text": text}])
        await self.read("blocks.show_version", label=label, version=0)
        await self.write("blocks.undo", label=label)

    async def long_responses(self) -> None:
        messages = [
            context_pb2.Message(json=json.dumps({"type": "reasoning", "id": f"rs_{number}", "summary": []}))
            for number in range(20_000)
        ]
        options = context_pb2.AssembleOptions(provider="openai-responses")
        request = context_pb2.AssembleContextRequest(
            org_id="attacker", agent_id="a", model="gpt-5", messages=messages, options=options
        )
        await self._context.AssembleContext(request, metadata=self._headers)

    async def crowd(self) -> None:
        """Valid requests, many at once."""
        await asyncio.gather(*(self.assemble() for _ in range(40)))

    async def close(self) -> None:
        await self._channel.close()


ATTACKS: Mapping[str, Callable[[Attacker], Awaitable[None]]] = {
    "nothing": lambda _: asyncio.sleep(0.1),
    "crowd": Attacker.crowd,
    "giant texts": Attacker.giant_texts,
    "long model": Attacker.long_model,
    "long filters": Attacker.long_filters,
    "bad requests": Attacker.bad_requests,
    "nested JSON": Attacker.nested_json,
    "record 15 MB": Attacker.record_15_mb,
    "record 150,000": Attacker.record_150_000,
    "reasoning": Attacker.reasoning,
    "group chat": Attacker.group_chat,
    "tools": Attacker.tools,
    "events": Attacker.events,
    "mutations": Attacker.mutations,
    "merges": Attacker.merges,
    "long conversation": Attacker.long_conversation,
    "long responses": Attacker.long_responses,
}


async def _attack(name: str, address: str, key: str, callers: int, seconds: float) -> None:
    """Calls until the time is over; returns how the calls ended."""
    attacker, codes = Attacker(address, key), Counter[str]()
    with contextlib.suppress(grpc.aio.AioRpcError):
        await attacker.assemble()  # connected
    print("ready", flush=True)
    until = time.monotonic() + seconds

    async def caller() -> None:
        while time.monotonic() < until:
            try:
                await asyncio.wait_for(ATTACKS[name](attacker), max(0.1, until - time.monotonic()))
                codes["OK"] += 1
            except grpc.aio.AioRpcError as error:
                codes[error.code().name] += 1
            except TimeoutError:
                codes["unfinished"] += 1

    await asyncio.gather(*(caller() for _ in range(callers)))
    await attacker.close()
    print(json.dumps(codes))


@asynccontextmanager
async def _served(folder: Path) -> AsyncIterator[tuple[str, str, str]]:
    """The address, the neighbour's key and the attacker's."""
    path = folder / "neighbour.db"
    async with Germane.open(path) as germane:
        neighbour = germane.agent("a", org="neighbour", user="u")
        for session, said in conversations(_HELD):
            await neighbour.record(said, session=session)
        keys = [(await germane.keys.create(org=org)).token for org in ("neighbour", "attacker")]
    command = ["-m", "bench.held", str(folder / _FIGURES), "--db", str(path)]
    command += ["--json", "serve", "--grpc", "127.0.0.1:0", "--http", "off"]
    command += ["--require-keys", "--log-level", "error"]
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield (json.loads(await process.stdout.readline())["grpc"], *keys)
    finally:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), 15)
        except TimeoutError:  # its loop doesn't come round: nothing less helps
            process.kill()
            await process.wait()


async def _neighbour(address: str, key: str, rate: float, seconds: float, questions: Iterator[str]) -> dict[str, Any]:
    async with grpc.aio.insecure_channel(address, options=_OPTIONS) as channel:
        stub = context_pb2.ContextAssemblyServiceStub(channel)

        async def ask() -> Answered:
            message = context_pb2.Message(role="user", content=next(questions))
            request = context_pb2.AssembleContextRequest(
                org_id="neighbour", agent_id="a", user_id="u", model="gpt-4o", messages=[message]
            )
            told = (await stub.AssembleContext(request, metadata=(("authorization", f"Bearer {key}"),))).metadata
            return Answered(told.degradation_level, told.fallback_reason)

        if not seconds:
            for _ in range(_WARM):
                await ask()
            return {}
        return (await offered(ask, rate, seconds, seed=1)).figures()


async def _run(options: argparse.Namespace) -> int:
    print(f"{describe()}\n\nneighbour at {options.rate:g}/s for {options.seconds:g} s each; milliseconds\n")
    felt, missed, questions = 0, 0, endless(5_000, seed=3)
    for name in options.only or ATTACKS:
        with TemporaryDirectory() as folder:
            async with _served(Path(folder)) as (address, key, own):
                await _neighbour(address, key, options.rate, 0, questions)
                (Path(folder) / _FIGURES).with_suffix(".begin").touch()
                command = ["-m", "bench.neighbour", "--attack", name, "--address", address, "--key", own]
                command += ["--seconds", str(options.seconds + 1), "--callers", str(options.callers)]
                attack = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=asyncio.subprocess.PIPE)
                assert attack.stdout is not None
                await attack.stdout.readline()
                told = await _neighbour(address, key, options.rate, options.seconds, questions)
                output, _ = await attack.communicate()
            held = _held(Path(folder))
        levels = told["levels_percent"]
        felt += told["p99"] > _P99 or levels.get("L0", 0.0) < 100
        missed += bool(told["failed"]) or held["loop"][0] > _PIECE
        lost = {level: round(share, 1) for level, share in levels.items() if level != "L0"}
        figures = (
            f"p50 {told['p50']:6.1f}  p99 {told['p99']:6.1f}  longest {told['longest']:7.1f}  L0 {levels.get('L0', 0):5.1f} %"
        )
        pieces = f"loop {held['loop'][0]:5.1f}  lock {held['lock'][0]:5.1f}"
        print(f"{name:<17} {figures}  {pieces}  {lost or ''} {told['failed'] or ''} {output.decode().strip()}", flush=True)
        if options.where:
            print(f"    loop: {held['loop'][1]}\n    lock: {held['lock'][1]}")
    print(f"\n{felt} attacks are felt beyond the aim (p99 {_P99:g} ms, every answer with its sources)")
    print(f"{missed} with a call that failed, or an event loop that was kept for more than {_PIECE:g} ms")
    return int(missed > 0)


def _held(folder: Path) -> dict[str, tuple[float, str]]:
    """The longest pieces of work, as the service has written them at its end; nothing where it was killed."""
    figures = folder / _FIGURES
    nothing: dict[str, tuple[float, str]] = {"loop": (inf, "the service had to be killed"), "lock": (inf, "")}
    return {"loop": (0.0, ""), "lock": (0.0, "")} | json.loads(figures.read_text()) if figures.exists() else nothing


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench neighbour", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rate", type=float, default=20.0)
    parser.add_argument("--callers", type=int, default=4)
    parser.add_argument("--only", nargs="*", choices=list(ATTACKS))
    parser.add_argument("--where", action="store_true", help="print where the longest pieces were seen")
    parser.add_argument("--attack", choices=list(ATTACKS), help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.attack is None:
        return asyncio.run(_run(options))
    asyncio.run(_attack(options.attack, options.address, options.key, options.callers, options.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
