"""Faulty service: `germane serve` whose engine, store and recorder fail at random, for `bench proxy --faults`.

    python -m bench.faulty_service PATH URL [--full]

It prints its HTTP address. Each call draws one of the ways to fail. With `--full` nothing can be written to any file.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import signal
import time
from pathlib import Path
from random import Random
from typing import Any

from germane import Agent
from germane.errors import StoreUnavailable
from germane.kinds.conversations.handle import AgentConversations
from germane.service.worker import serve
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings
from germane.settings.upstreams import Upstream
from germane.settings.values import Address

__all__ = ["main"]

_RANDOM = Random(1)
_LOOPBACK = Address(host="127.0.0.1", port=0)


def _failing(original: Any) -> Any:
    async def failing(*given: Any, **named: Any) -> Any:
        match _RANDOM.randrange(8):
            case 0:
                raise RuntimeError
            case 1:
                raise StoreUnavailable("made to fail")
            case 2:
                raise MemoryError
            case 3:
                await asyncio.sleep(3600)
            case 4:
                time.sleep(_RANDOM.random() / 5)  # noqa: ASYNC251 the engine's loop does nothing else meanwhile
            case 5:
                await asyncio.sleep(_RANDOM.random() / 10)
            case 6:
                return object()
        return await original(*given, **named)

    return failing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("url")
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    Agent.assemble = _failing(Agent.assemble)  # type: ignore[method-assign]
    Agent.record = _failing(Agent.record)  # type: ignore[method-assign]
    AgentConversations.aliased = _failing(AgentConversations.aliased)  # type: ignore[method-assign]
    service = ServiceSettings(
        db=given.path,
        grpc=_LOOPBACK,
        http=_LOOPBACK,
        log_level="error",
        shutdown_seconds=1.0,
        upstreams={"llm": Upstream(name="llm", url=given.url)},
    )

    def listening(where: Any) -> None:
        if given.full:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        print(where.http, flush=True)

    serve(service, Settings(), listening)


if __name__ == "__main__":
    main()
