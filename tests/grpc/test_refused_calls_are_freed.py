"""What a refused call has sent is freed with its status. It waited for the garbage collector, which counts objects and no
bytes: `python -m bench refused` shows what that came to."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
from google.protobuf.message import Message

from germane.grpc.messages import context_pb2
from germane.grpc.messages import memory_pb2 as pb
from support.garbage import left_to_the_collector
from support.listening import SCOPE, Wire, asked, calling, listening, opened, refused, said, struct

pytestmark = pytest.mark.requirement("RPC-4")

WRONG: dict[str, Callable[[Wire], Any]] = {
    "an unknown strategy": lambda wire: wire.assembly.AssembleContext(asked(options=context_pb2.AssembleOptions(strategy="x"))),
    "no message": lambda wire: wire.assembly.AssembleContext(asked(said("x"), context_pb2.Message(json="{"))),
    "no role": lambda wire: wire.events.Record(pb.RecordRequest(scope=SCOPE, session_id="s", messages=[said("x", role="x")])),
    "no kind": lambda wire: wire.memories.Remember(pb.RememberRequest(scope=SCOPE, kind="x", text="y", fields=struct())),
    "no such memory": lambda wire: calling(wire, "memories.update", id="x", changes={"a": 1}),
    "no query": lambda wire: wire.memories.Search(pb.SearchRequest(scope=SCOPE, query="")),
}


def _with_a_request(one: object) -> str:
    """The name of a frame that holds a request."""
    if inspect.isframe(one) and any(isinstance(value, Message) for value in one.f_locals.values()):
        return one.f_code.co_qualname
    return ""


@pytest.mark.parametrize("name", WRONG)
async def test_no_frame_keeps_the_request_of_a_refused_call(tmp_path: Path, name: str) -> None:
    """Of each kind of refusal, on the port's loop and on the engine's."""
    async with opened(tmp_path) as germane, listening(germane) as wire:
        await refused(WRONG[name](wire))
        with left_to_the_collector(_with_a_request) as left:
            for _ in range(3):
                code, _ = await refused(WRONG[name](wire))
                assert grpc.StatusCode[code] in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND)
    assert left == []
