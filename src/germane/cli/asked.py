"""Asked: what an assembly is asked for on the command line, and the assembly itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

from germane.cli.global_options import GlobalOptions
from germane.cli.narrowing import Narrowing, filters
from germane.cli.reading import messages_in
from germane.errors import InvalidInput
from germane.types.context import Context

__all__ = ["Asked", "assembled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options as given; without `file`, `query` is the request's only message."""

    file: str | None
    query: str | None
    model: str
    provider: str | None = None
    max_tokens: int | None = None
    strategy: str = "default"
    session: str | None = None
    at: str | None = None
    narrowing: Narrowing = field(default_factory=Narrowing)

    def request(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
        """Messages and tools, read from where they are. Raises `InvalidInput`."""
        if self.file is not None:
            return messages_in(self.file)
        if self.query is not None:
            return [{"role": "user", "content": self.query}], None
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing to assemble for (give FILE with messages, or --query with a question)")
        return messages_in("-")


async def assembled(chosen: GlobalOptions, asked: Asked) -> Context:
    """Assemble, waiting for every source: a person at a terminal has no deadline."""
    messages, tools = asked.request()
    narrowed, at = filters(chosen, asked.narrowing), chosen.moment(asked.at, "--at")
    async with chosen.opened() as (_, agent):
        return await agent.assemble(
            messages,
            model=asked.model,
            provider=asked.provider,
            tools=tools,
            query=asked.query if asked.file is not None else None,
            session=asked.session,
            at=at,
            deadline=None,
            max_tokens=asked.max_tokens,
            strategy=asked.strategy,
            filters=narrowed,
        )
