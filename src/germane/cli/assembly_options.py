"""AssemblyOptions: the request that `assemble` and `explain` share, and the assembly that both run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from germane.cli.files import RequestFile, request_in
from germane.cli.filter_options import FilterOptions
from germane.cli.global_options import GlobalOptions
from germane.errors import InvalidInput
from germane.types.answer_time import parse_answer_time
from germane.types.effort import parse_effort

if TYPE_CHECKING:
    from datetime import datetime

    from germane.api.agent import Agent
    from germane.types.context import Context
    from germane.types.query import Filters

__all__ = ["AssemblyOptions", "CheckedOptions", "SaveTrace"]

SaveTrace = Annotated[
    Path | None, typer.Option(help="Write the trace of this assembly to a file; explain --trace FILE shows it again.")
]


class CheckedOptions(NamedTuple):
    """The request with the options that had to be parsed."""

    request: RequestFile
    deadline: float | None
    filters: Filters
    at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyOptions:
    """The options as typed; both commands take them with `option_groups.expand_groups`."""

    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A JSON list of messages, or a request with messages, tools and system; - is standard input."
        ),
    ] = None
    query: Annotated[
        str | None,
        typer.Option(help="The question to find context for. Without FILE it is also the only message of the request."),
    ] = None
    model: Annotated[str, typer.Option(help="The model that the messages are for.")] = "gpt-4o"
    provider: Annotated[
        str | None,
        typer.Option(help="Message format: openai, openai-responses, anthropic or gemini. Default: the model's."),
    ] = None
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Add at most this many tokens.")] = None
    effort: Annotated[
        str | None,
        typer.Option(help="How much a token has to bring: low, medium, high, or 0.01 to 100 (1 is medium)."),
    ] = None
    window: Annotated[int | None, typer.Option(min=1, help="The model's window in tokens, in place of the catalog's.")] = None
    like: Annotated[str | None, typer.Option(help="A model of the catalog that the model is like, for unknown names.")] = None
    system: Annotated[str | None, typer.Option(help="The system prompt beside the messages. Default: FILE's.")] = None
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="When the answer is due, such as 0.25; late sources are left out. Default: wait for every source.",
        ),
    ] = None
    strategy: Annotated[str, typer.Option(help="default, verbose, compact, composite, or one of your settings.")] = "default"
    session: Annotated[str | None, typer.Option(help="The id of the conversation that the request belongs to.")] = None
    at: Annotated[str | None, typer.Option(help="Assemble as of this time (ISO 8601). Default: now.")] = None
    filters: FilterOptions = field(default_factory=FilterOptions)

    async def assemble(self, options: GlobalOptions) -> Context:
        """Assemble the context, with a deadline from memory that is warm, as an application that runs longer would. Raises
        `InvalidInput` for a bad option."""
        return (await self.assemble_and_read(options, reading=False))[0]

    async def assemble_and_read(self, options: GlobalOptions, *, reading: bool) -> tuple[Context, Mapping[str, str]]:
        """The same, with the texts by id of what was found and not read, where they are asked for by `reading`."""
        checked = self.checked(options)
        async with options.open_store(warm=True) as (_, agent):
            context = await self.assemble_with(agent, checked)
            return context, await agent.texts([one.id for one in context.trace.unread]) if reading else {}

    def checked(self, options: GlobalOptions) -> CheckedOptions:
        """Reads the request and checks the options. Raises `InvalidInput`."""
        deadline = None if self.deadline is None else parse_answer_time("--deadline", self.deadline)
        return CheckedOptions(self._request(), deadline, self.filters.filters(options), options.parse_time(self.at, "--at"))

    async def assemble_with(self, agent: Agent, checked: CheckedOptions) -> Context:
        """Assemble the context in a store that is open. Raises `InvalidInput`."""
        request, deadline, filters, at = checked
        if deadline is not None:
            await agent.warm()
        return await agent.assemble(
            request.messages,
            model=self.model,
            provider=self.provider,
            tools=request.tools,
            query=self.query if self.file is not None else None,
            session=self.session,
            at=at,
            deadline=deadline,
            max_tokens=self.max_tokens,
            strategy=self.strategy,
            filters=filters,
            effort=None if self.effort is None else parse_effort(self.effort),
            window=self.window,
            like=self.like,
            system=request.system if self.system is None else self.system,
        )

    def _request(self) -> RequestFile:
        """The request, from FILE, --query or standard input."""
        if self.file is not None:
            return request_in(self.file)
        if self.query is not None:
            return RequestFile(messages=[{"role": "user", "content": self.query}])
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing to assemble for (give FILE with messages, or --query with a question)")
        return request_in("-")
