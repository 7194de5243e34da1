"""`germane eval`: measures recall and latency on labelled conversations; also the group of `eval fit` and `eval label`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from germane.cli.commands.eval_fit import fit
from germane.cli.commands.eval_label import label
from germane.cli.global_options import options_of

__all__ = ["app", "owns_option"]

_DEFAULT = "measure"


class _GroupWithDefault(TyperGroup):
    """Runs the default command where the first argument isn't the name of a command: `germane eval fit` fits a model,
    `germane eval ./fit` measures a file called fit."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in _command_names():
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, [_DEFAULT, *_complete_json(args or ["--help"])])


class _DefaultCommand(TyperCommand):
    """The help of the default command is shown as the help of the group: without its name, with the other commands below."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        path = ctx.command_path.removesuffix(_DEFAULT).rstrip()
        formatter.write_usage(path, " ".join(self.collect_usage_pieces(ctx)))

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        group = getattr(ctx.parent, "command", None)
        rows = [(name, group.commands[name].get_short_help_str(80)) for name in _command_names() if group is not None]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)


app = typer.Typer(cls=_GroupWithDefault, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


def owns_option(arguments: Sequence[str], option: str) -> bool:
    """Whether `option`, found after `arguments`, is an option of the default command and not the global one of the same name:
    here `--json` takes a file."""
    return option == "--json" and list(arguments[:1]) == ["eval"] and not set(arguments[1:2]) & set(_command_names())


def _command_names() -> list[str]:
    return [command.name for command in app.registered_commands if command.name and command.name != _DEFAULT]


def _complete_json(arguments: Sequence[str]) -> list[str]:
    """Replace `--json` without a file by `--json -`, which prints to standard output as every other command does."""
    completed = list(arguments)
    for index in reversed([index for index, argument in enumerate(completed) if argument == "--json"]):
        if index + 1 == len(completed) or completed[index + 1].startswith("--"):
            completed.insert(index + 1, "-")
    return completed


@app.callback()
def eval_group() -> None:
    """Measure recall and latency on labelled conversations, without an LLM."""


@app.command(_DEFAULT, cls=_DefaultCommand)
def measure(
    context: typer.Context,
    data: Annotated[
        list[str] | None, typer.Argument(metavar="DATA", help="Files or folders of labelled conversations.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="The format of DATA. Default: recognised by the content.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="default, verbose, compact, composite, or a strategy of your settings.  [default: compact; default for "
            "everyday data]",
        ),
    ] = None,
    relevance: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A relevance model: coefficients that germane eval fit wrote.")
    ] = None,
    tokens: Annotated[
        list[str] | None,
        typer.Option(
            metavar="N,N",
            help="The token budgets to measure recall at.  [default: 250,500,1000,2000,4000; none for everyday data with "
            "--quick]",
        ),
    ] = None,
    k: Annotated[
        list[str] | None, typer.Option("--k", metavar="N,N", help="The ranks k to measure recall@k at.  [default: 5,10,20,50]")
    ] = None,
    effort: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,NAME",
            help="The efforts to measure tokens and recall with where there is no budget: low, medium, high or numbers.  "
            "[default: the strategy's]",
        ),
    ] = None,
    model: Annotated[str, typer.Option(metavar="NAME", help="The model whose tokenizer counts the tokens.")] = "gpt-4o",
    clock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CLOCK",
            help="The time of the questions: end+1h (an hour after the conversation), today, or a time in ISO 8601 "
            "(may be repeated).  [default: end+1h and today]",
        ),
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="NAME,NAME", help="Measure only the questions of these categories.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Measure only this many questions, spread evenly over the data.")
    ] = None,
    deadline: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            metavar="MS",
            help="The deadline of each assembly, in milliseconds. Default: none while recall is measured, 48 while latency is.",
        ),
    ] = None,
    talk: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Ask so many requests of everyday data in one conversation.  [default: each request opens its own]",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure recall only: neither latency, prefix reuse nor turns without need.")
    ] = False,
    without_need: Annotated[
        bool | None,
        typer.Option(help="Ask turns that no memory helps with, and measure what they get.  [default: unless --quick]"),
    ] = None,
    turns: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask only this many turns without need, spread evenly.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="The random seed of the resampling that gives the confidence intervals.")
    ] = 0,
    json: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write all results to this file as JSON; - is standard output."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write an HTML page with curves to this file.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B", help="Compare two strategies or two embedders on DATA, or without DATA two files that --json wrote."
        ),
    ] = None,
) -> None:
    """Measure recall and latency on labelled conversations, without an LLM.

    Each conversation is recorded into a temporary store and its questions are asked. The evidence of a question is the messages
    that hold its answer. The report shows how much of the evidence gets into the context within each token budget, what else is
    in it, the latency, and the confidence intervals.

    DATA is in the format of LoCoMo, BEAM, REALTALK or LongMemEval, or holds requests of your own, one JSON object per line, or
    everyday data: the sessions of a person, and requests of which some need nothing stored. The global options --embedder and
    --settings apply. The document evaluate.md explains each figure.

    \b
      germane eval requests.jsonl
      germane eval locomo/ --tokens 500,1000 --html report.html
      germane eval locomo/ --compare compact default
      germane eval everyday/ --talk 5 --html report.html
      germane eval locomo/ --embedder minilm --json minilm.json
      germane eval --compare distilled.json minilm.json
    """
    from germane.cli.evaluation.evaluation_options import EvaluationOptions, parse_efforts, parse_names, parse_numbers
    from germane.cli.evaluation.run import Outputs, run
    from germane.evaluate.question_clock import CLOCKS
    from germane.evaluate.run import KS

    options = options_of(context)
    evaluation = EvaluationOptions(
        strategy=strategy,
        embedder=options.embedder,
        settings=options.settings,
        relevance=relevance,
        model=model,
        budgets=parse_numbers("--tokens", tokens) if tokens else None,
        ks=parse_numbers("--k", k) if k else KS,
        efforts=parse_efforts(effort or ()),
        clocks=tuple(clock or CLOCKS),
        categories=parse_names(categories or ()),
        limit=limit,
        deadline=deadline,
        talk=talk,
        quick=quick,
        without_need=without_need,
        turns=turns,
        seed=seed,
    )
    run(data or [], format, evaluation, compare, Outputs(json=json, html=html, printed=options.json or str(json) == "-"))


app.command("fit", short_help="Fit the relevance model to labelled conversations or feedback.")(fit)
app.command("label", short_help="Mark which items of an assembly helped, for eval fit --feedback.")(label)
