"""`germane eval`: a group of commands whose default is to measure: `germane eval DATA…`, `germane eval fit DATA…`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from germane.cli.global_options import setting

__all__ = ["app", "own"]

_DEFAULT = "measure"


class _Measuring(TyperGroup):
    """What doesn't begin with the name of a command is for the default one: `germane eval fit` fits, `germane eval ./fit`
    measures a file of that name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in _names():
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, [_DEFAULT, *_printed(args or ["--help"])])


class _Default(TyperCommand):
    """Shown as the group itself, with the other commands below."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        path = ctx.command_path.removesuffix(_DEFAULT).rstrip()
        formatter.write_usage(path, " ".join(self.collect_usage_pieces(ctx)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        group = getattr(ctx.parent, "command", None)
        rows = [(name, group.commands[name].get_short_help_str(80)) for name in _names() if group is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


app = typer.Typer(cls=_Measuring, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
"""Other commands register here; they win where the first argument is their name."""


def own(arguments: Sequence[str], option: str) -> bool:
    """Whether this option, standing after these arguments, is the default command's own, not the one that all commands share:
    `--json` takes a file here."""
    return option == "--json" and list(arguments[:1]) == ["eval"] and not set(arguments[1:2]) & set(_names())


def _names() -> list[str]:
    return [command.name for command in app.registered_commands if command.name and command.name != _DEFAULT]


def _printed(arguments: Sequence[str]) -> list[str]:
    """`--json` without a file behind it is `--json -`, as for every other command."""
    given = list(arguments)
    for at in reversed([at for at, argument in enumerate(given) if argument == "--json"]):
        if at + 1 == len(given) or given[at + 1].startswith("--"):
            given.insert(at + 1, "-")
    return given


@app.callback()
def evaluation() -> None:
    """Measure how good and how fast germane is on labelled conversations, without an LLM."""


@app.command(_DEFAULT, cls=_Default)
def measure(
    context: typer.Context,
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Files or folders of labelled conversations.")
    ] = None,
    format: Annotated[str | None, typer.Option(metavar="NAME", help="The data's format; told by its shape by default.")] = None,
    strategy: Annotated[str, typer.Option(metavar="NAME", help="default, compact, composite, or one of your own.")] = "compact",
    relevance: Annotated[Path | None, typer.Option(metavar="FILE", help="Coefficients that germane eval fit wrote.")] = None,
    tokens: Annotated[
        list[str] | None, typer.Option(metavar="N,N", help="Budgets of added text: 250,500,1000,2000,4000.")
    ] = None,
    k: Annotated[list[str] | None, typer.Option("--k", metavar="N,N", help="Places of the ranking: 5,10,20,50.")] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model whose tokens are counted.")] = "gpt-4o",
    clock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLOCK", help="When to ask: end+1h (after the conversation), today, or a time; by default the first two."
        ),
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="NAME,NAME", help="Only questions of these categories: a,b.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only so many questions, spread evenly.")] = None,
    deadline: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            metavar="MS",
            help="Milliseconds for every answer; by default recall waits, and latency is measured under 48.",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Recall only: no latency, no prefix reuse.")] = False,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the resampling behind the intervals.")] = 0,
    json: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything to this file; - is standard output.")
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with curves to this file.")] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="Two strategies or two embedders on DATA, or two files of --json without."),
    ] = None,
) -> None:
    """Measure how good and how fast germane is on labelled conversations, without an LLM.

    Each conversation is recorded into a store of its own and its questions are asked. Shown is how much of the evidence, the
    messages that hold the answer, gets into the context within so many tokens, what else is in it, how long it took, and how
    sure the figures are. DATA is in the format of LoCoMo, BEAM, REALTALK or LongMemEval, or requests of your own, one JSON
    object a line. The shared options --embedder and --settings count here too. docs/evaluate.md says what each figure means.

    \b
      germane eval requests.jsonl
      germane eval locomo/ --tokens 500,1000 --html report.html
      germane eval locomo/ --compare compact default
      germane eval locomo/ --embedder minilm --json minilm.json
      germane eval --compare static.json minilm.json
    """
    from germane.cli.evaluation.command import Outputs, run
    from germane.cli.evaluation.wanted import Wanted, numbers, words
    from germane.evaluate.question_clock import CLOCKS
    from germane.evaluate.run import BUDGETS, KS

    chosen = setting(context)
    wanted = Wanted(
        strategy=strategy,
        embedder=chosen.embedder,
        settings=chosen.settings,
        relevance=relevance,
        model=model,
        budgets=numbers("--tokens", tokens) if tokens else BUDGETS,
        ks=numbers("--k", k) if k else KS,
        clocks=tuple(clock or CLOCKS),
        categories=words(categories or ()),
        limit=limit,
        deadline=deadline,
        quick=quick,
        seed=seed,
    )
    run(data or [], format, wanted, compare, Outputs(json=json, html=html, printed=chosen.json or str(json) == "-"))
