"""`germane mcp`: the memory of one agent and user for an MCP client, over stdin and stdout."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import typer

from germane.cli.options import GlobalOptions, options_of, run_async

if TYPE_CHECKING:
    from germane.integrations.mcp_server import Call


def mcp(context: typer.Context) -> None:
    """Serve the memory of --agent and --user to an MCP client, such as Claude Code, Codex or Cursor, over stdin and stdout.

    The client begins and ends this command; its settings name it. The document mcp.md has the entries. A missing database is
    created.
    """
    run_async(_serve(options_of(context)))


async def _serve(options: GlobalOptions) -> None:
    from germane.integrations.mcp_server import memory_server

    async with OpenedLate(lambda: opened(options)) as call:
        await memory_server(call).run_stdio_async()


@asynccontextmanager
async def opened(options: GlobalOptions) -> AsyncIterator[Call]:
    from germane.integrations.mcp_server import calls_of

    async with options.open_store(create=True, warm=True) as (germane, agent):

        async def served(name: str, /, **arguments: Any) -> Any:
            return await getattr(agent, name)(**arguments)

        yield calls_of(germane, agent) if options.server is None else served


class OpenedLate:
    """Calls the operations of a store that opens beside the first calls, which wait for it. Where it can't be opened, the call
    raises the error, and the next call tries again. `opening` returns what opens the store; it is closed with this context."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[Call]]) -> None:
        self._opening, self._stack = opening, AsyncExitStack()
        self._call: asyncio.Future[Call] | None = None

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        call = await asyncio.shield(self._begun())
        return await call(name, **arguments)

    async def __aenter__(self) -> Self:
        self._begun()
        return self

    async def __aexit__(self, *raised: object) -> None:
        if self._call is not None:
            await asyncio.gather(self._call, return_exceptions=True)
        await self._stack.aclose()

    def _begun(self) -> asyncio.Future[Call]:
        if self._call is None or (self._call.done() and (self._call.cancelled() or self._call.exception() is not None)):
            self._call = asyncio.ensure_future(self._stack.enter_async_context(self._opening()))
        return self._call
