"""Refused: memory that the service holds after calls that it refused, of megabytes each.

    python -m bench refused [--calls 150] [--megabytes 2]

Each call names a strategy that there isn't. The service runs in this process, as does its caller, so that what the caller sends
counts too. The garbage collector is set as `Germane.open` sets it: it counts objects and no bytes, so whatever waits for it may
take any amount of memory. Requirement: RPC-4.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import grpc.aio
import psutil

from bench.machine import describe
from germane import Germane
from germane.grpc.messages import context_pb2
from germane.grpc.server.grpc_server import GrpcServer
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address

__all__ = ["main"]

_MEGABYTE = 1 << 20
_WARM = 10


async def grown(calls: int, megabytes: int, folder: Path) -> tuple[int, int]:
    """Megabytes by which the process has grown after so many refused calls, at most and in the end."""
    settings = ServiceSettings(db=folder / "germane.db", grpc=Address(host="127.0.0.1", port=0), http=None)
    process, most = psutil.Process(), 0
    async with Germane.open(folder / "germane.db") as germane:
        await germane.agent("bench").warm()
        server = GrpcServer(germane, settings)
        await server.start()
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{server.address.port}") as channel:
                ask = context_pb2.ContextAssemblyServiceStub(channel).AssembleContext
                before = 0
                for number in range(-_WARM, calls):
                    before = process.memory_info().rss if number == 0 else before
                    said = context_pb2.Message(role="user", content=f"word {number} " * (megabytes * _MEGABYTE // 10))
                    wrong = context_pb2.AssembleOptions(strategy="none such")
                    request = context_pb2.AssembleContextRequest(
                        org_id="o", agent_id="a", model="gpt-4o", messages=[said], options=wrong
                    )
                    with suppress(grpc.aio.AioRpcError):
                        raise RuntimeError(f"it wasn't refused: {await ask(request)}")
                    most = max(most, process.memory_info().rss - before) if number >= 0 else 0
        finally:
            await server.stop(0)
    return most // _MEGABYTE, (process.memory_info().rss - before) // _MEGABYTE


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench refused", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=150)
    parser.add_argument("--megabytes", type=int, default=2)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        most, last = asyncio.run(grown(options.calls, options.megabytes, Path(folder)))
    print(describe())
    print(f"{options.calls} refused calls of {options.megabytes} MB: the process grew by {most} MB at most, {last} in the end")


if __name__ == "__main__":
    main()
