"""`germane build`: prints a whole request: instructions, directive, blocks, tools and their rules, history, what is found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import RequestFile, read_json, read_text, request_in
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, plain, print_json
from germane.errors import InvalidInput
from germane.types.answer_time import parse_answer_time

if TYPE_CHECKING:
    from germane.api.builder.built_request import BuiltRequest

__all__ = ["build"]


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
    from germane.rules.tool_rule import parse_rule

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
    from germane.cli.enriched_messages import print_conversation

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
