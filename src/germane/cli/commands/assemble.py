"""`germane assemble`, `explain`, `build`: the messages of a request with their context, why, and a whole request.

`AssemblyOptions` is the request that `assemble` and `explain` share, and the assembly that both run.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from germane.cli.files import RequestFile, read_json, read_text, request_in
from germane.cli.hints import owner_hint
from germane.cli.options import FilterOptions, GlobalOptions, expand_groups, options_of, run_async
from germane.cli.screen import console, plain, print_fields, print_json
from germane.errors import InvalidInput
from germane.types.budget import parse_effort
from germane.types.checks import parse_answer_time
from germane.types.codec import encode

if TYPE_CHECKING:
    from datetime import datetime

    from germane.api.agent import Agent
    from germane.api.builder.builder import BuiltRequest
    from germane.types.context import Context
    from germane.types.query import Filters
    from germane.types.reports import Why


SaveTrace = Annotated[
    Path | None, typer.Option(help="Write the trace of this assembly to a file; explain --trace FILE shows it again.")
]


_UNSENT = ("added", "items", "earlier", "attribution")
"""What a server doesn't send of a context."""


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


# `germane assemble`: the messages with the context that the model needs.


@expand_groups
def assemble(context: typer.Context, request: AssemblyOptions, save_trace: SaveTrace = None) -> None:
    """Print a request's messages with the context that the model needs. Without
    --deadline it waits for every source.

    \b
      germane assemble --query "When do we launch?" --user ada
      germane assemble request.json --user ada --strategy compact
    """
    from germane.cli.assembly_screen import SavedTrace, print_messages, save
    from germane.cli.json_shapes import context_shape

    options = options_of(context)
    if save_trace is not None and options.server is not None:
        raise InvalidInput("the trace stays on the server: leave out --save-trace")
    assembled = run_async(request.assemble(options))
    if save_trace is not None:
        save(SavedTrace.of(assembled), save_trace)
    if options.json:
        unsent = () if options.server is None else _UNSENT
        print_json({name: value for name, value in context_shape(assembled).items() if name not in unsent})
        return
    print_messages(assembled, console())
    fallback = assembled.metadata.fallback_reason
    for note in ([f"less than asked for: {fallback}"] if fallback else []) + list(assembled.trace.warnings):
        console(stderr=True).print(f"note: {plain(note)}")


# `germane explain`: why each candidate went into the context or was left out.


@expand_groups
def explain(
    context: typer.Context,
    request: AssemblyOptions,
    trace: Annotated[
        str | None, typer.Option(help="Explain the assembly that --save-trace wrote to this file, instead of a new one.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every candidate that was left out.")] = False,
    ids: Annotated[bool, typer.Option("--ids", help="Show ids instead of texts.")] = False,
    why: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Say of this memory or message alone why it went in or not, wherever it was lost."),
    ] = None,
    save_trace: SaveTrace = None,
) -> None:
    """Assemble a request and print why: each candidate with its score, its tokens and the reason it went in or was left out.

    \b
      germane explain --query "When do we launch?" --user ada --save-trace launch.json
      germane explain --trace launch.json --all
      germane explain --query "When do we launch?" --user ada --why 01a204f2-6d51
    """
    from germane.cli.assembly_screen import SavedTrace, dump, load, print_explanation, save

    options = options_of(context)
    texts: Mapping[str, str] = {}
    if why is not None:
        if trace is not None or save_trace is not None:
            raise InvalidInput("--why assembles the request and prints nothing else: leave out --trace and --save-trace")
        _print_why(run_async(_why(options, request, why)), options)
        return
    if options.server is not None and trace is None:
        if options.json or everything or ids or save_trace is not None:
            raise InvalidInput(
                "the trace stays on the server: without --json, --all, --ids and --save-trace its text is printed"
            )
        console().print(plain(run_async(request.assemble(options)).explain()), soft_wrap=True)
        return
    if trace is None:
        assembled, texts = run_async(request.assemble_and_read(options, reading=everything))
        saved = SavedTrace.of(assembled)
    elif request.file is not None or request.query is not None:
        raise InvalidInput("--trace shows what was saved: give either --trace, or FILE and --query")
    else:
        saved = load(trace)
    if save_trace is not None:
        save(saved, save_trace)
    if options.json:
        print_json(dump(saved))
    else:
        print_explanation(saved, console(), everything=everything, ids=ids, texts=texts)


def _print_why(found: Why, options: GlobalOptions) -> None:
    """Print what an assembly did with one thing."""
    if options.json:
        print_json(encode(found))
        return
    fields = [
        ("id", found.id),
        ("outcome", found.outcome.replace("_", " ")),
        ("why", found.text),
        ("rank", "" if found.rank is None else f"{found.rank:,}"),
        ("P(relevant)", "" if found.probability is None else f"{found.probability:.4f}"),
        ("tokens", "" if found.tokens is None else f"{found.tokens:,}"),
    ]
    print_fields(console(), fields)


async def _why(options: GlobalOptions, request: AssemblyOptions, id: str) -> Why:
    """Where this scope has no such thing, the sentence tells who has: whoever runs the command has the file."""
    from dataclasses import replace

    checked = request.checked(options)
    async with options.open_store(warm=True) as (germane, agent):
        found: Why = await agent.why(id, await request.assemble_with(agent, checked), session=request.session)
        if found.outcome == "absent" and (where := await owner_hint(germane, options, id)):
            return replace(found, text=f"this scope doesn't have it: {where}")
        return found


# `germane build`: a whole request: instructions, directive, blocks, tools and their rules, history, what is found.


def build(
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="A JSON list of messages, or a request with messages, tools and system; - is standard input."
        ),
    ] = None,
    query: Annotated[str | None, typer.Option(help="The question. Without FILE it is also the only message.")] = None,
    model: Annotated[str, typer.Option(help="The model that the request is for.")] = "gpt-4o",
    provider: Annotated[
        str | None, typer.Option(help="Its shape: openai, openai-responses, anthropic or gemini. Default: the model's.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option(metavar="FILE", help="The text that the system prompt begins with. Default: FILE's system.")
    ] = None,
    rules: Annotated[str | None, typer.Option(metavar="FILE", help="The rules of the tools: a JSON list.")] = None,
    block: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="Show this block too; several times for several.")
    ] = None,
    memory_tokens: Annotated[int | None, typer.Option(min=0, help="The most tokens of memory.")] = None,
    history_tokens: Annotated[int | None, typer.Option(min=1, help="The most tokens of history.")] = None,
    strategy: Annotated[str, typer.Option(help="default, verbose, compact, composite, or one of your settings.")] = "default",
    session: Annotated[str | None, typer.Option(help="The id of the conversation.")] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="When it is due, such as 0.25. Default: wait for every source.")
    ] = None,
) -> None:
    """Print the whole request that an agent's model would get. With --json, the
    arguments of the provider's call, and what went in.

    \b
      germane build --query "When do we launch?" --block project/plan
      germane build request.json --model claude-opus-4-8 --json
    """
    options = options_of(context)
    request = _request(file, query)
    said = None if instructions is None else read_text(instructions)
    given = {
        "model": model,
        "provider": provider,
        "instructions": _system(request) if said is None else said,
        "rules": [] if rules is None else _listed(read_json(rules), rules),
        "blocks": block or [],
        "limits": {"memory_tokens": memory_tokens, "history_tokens": history_tokens},
        "strategy": strategy,
        "session": session,
        "deadline": None if deadline is None else parse_answer_time("--deadline", deadline),
    }
    built = run_async(_built(options, request, query if file is not None else None, given))
    if options.json:
        from germane.cli.json_shapes import built_shape

        print_json(built_shape(built))
        return
    _print(built)


async def _built(options: GlobalOptions, request: RequestFile, query: str | None, given: dict[str, Any]) -> BuiltRequest:
    from germane.tool_rules.value import parse_rule

    async with options.open_store(warm=True) as (_, agent):
        builder = (
            agent.builder()
            .with_model(given["model"], given["provider"])
            .with_messages(request.messages)
            .with_base_instructions(given["instructions"])
            .with_tools(request.tools or [])
            .with_tool_rules([parse_rule(one) for one in given["rules"]])
            .with_batch_blocks(*given["blocks"])
            .with_limits(**given["limits"])
            .with_query(query)
            .with_strategy(given["strategy"])
            .with_session(given["session"])
            .with_deadline(given["deadline"])
        )
        return await builder


def _print(built: BuiltRequest) -> None:
    from germane.cli.assembly_screen import print_conversation

    screen, metadata = console(), built.metadata
    print_conversation(built.messages, built.system, screen)
    parts = {name: getattr(metadata.tokens, name) for name in metadata.tokens.__dataclass_fields__}
    told = ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in parts.items() if tokens)
    notes = [f"{metadata.estimated_tokens:,} tokens: {told}"]
    notes += [f"{metadata.archived:,} earlier messages left out"] if metadata.archived else []
    notes += [f"block {one.label} left out: {one.reason}" for one in metadata.blocks_left_out]
    for note in (*notes, *metadata.faults, *metadata.warnings):
        console(stderr=True).print(f"note: {plain(note)}")


def _request(file: str | None, query: str | None) -> RequestFile:
    if file is not None:
        return request_in(file)
    if query is not None:
        return RequestFile(messages=[{"role": "user", "content": query}])
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidInput("nothing to build for (give FILE with messages, or --query with a question)")
    return request_in("-")


def _system(request: RequestFile) -> str:
    from germane.types.message import system_text

    return "" if request.system is None else system_text(request.system)


def _listed(rules: Any, path: str) -> list[Any]:
    if not isinstance(rules, list):
        raise InvalidInput(f"{path}: the rules must be a JSON list")
    return rules
