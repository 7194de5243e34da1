"""`germane eval`, `eval fit`, `eval label`: measure on labelled conversations, fit the relevance model, mark items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from germane.cli.files import read_text, write_text
from germane.cli.options import options_of, run_async
from germane.cli.screen import console, print_json, progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane_eval.fit.candidates import Candidates


# `germane eval fit`: fits the coefficients of the relevance model to labelled conversations and to feedback.


def fit(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DATA", help="Files or folders of labelled conversations, as germane eval reads them."),
    ] = None,
    feedback: Annotated[Path | None, typer.Option(help="A feedback file that germane eval label wrote.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the fitted model to this TOML file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write all figures to this Markdown file.")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(help="Keep the collected candidates in this .npz file for the next run with the same options."),
    ] = None,
    compare_to: Annotated[
        Path | None, typer.Option(help="The model to compare with and to start from. Default: the built-in one.")
    ] = None,
    l2: Annotated[float, typer.Option(min=0.0, help="The L2 penalty on the standardised coefficients.")] = 10.0,
    strength: Annotated[
        float,
        typer.Option(min=0.01, help="How strongly the coefficients resist feedback: a higher value moves them less."),
    ] = 50.0,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="The number of cross-validation folds of whole conversations. Default: one per conversation."),
    ] = None,
    limit: Annotated[int, typer.Option(min=10, help="The number of candidates collected for each question.")] = 400,
    without: Annotated[list[str] | None, typer.Option(help="A feature to leave out (may be repeated).")] = None,
    loss: Annotated[str, typer.Option(help="The loss: softmax (listwise) or logistic.")] = "softmax",
    keywords: Annotated[bool, typer.Option(help="Whether to fit the columns for keyword search (without vectors) too.")] = True,
) -> None:
    """Fit the coefficients of the relevance model to labelled questions, to feedback, or to both. The fit to questions is
    cross-validated by conversation.

    The report shows, for the old and the new model, the recall within each token budget, how reliable the probabilities are,
    and the coefficients. Use the fitted model with Germane.open(relevance=FILE) or the setting relevance = "FILE"."""
    from germane_eval.cli.fit import figures, need_figures, origin, show_coefficients, show_fit, show_need
    from germane_eval.fit.feedback import adapt, marked_lines
    from germane_eval.fit.fitting import NEED_COLUMNS, ModelColumns, Options, load_tables, refit, shipped_tables
    from germane_eval.fit.need import fit_need

    options = options_of(context)
    embedder = options.embedder or "distilled"
    fit_options = Options.of(loss=loss, l2=l2, folds=folds, without=without or ())
    old = shipped_tables(embedder) if compare_to is None else load_tables(compare_to)
    if not data and feedback is None:
        raise InvalidInput("nothing to fit to: give DATA, --feedback FILE, or both")
    marked = [] if feedback is None else marked_lines(read_text(str(feedback)), str(feedback))
    tables, summary, provenance = old, dict[str, Any](), dict[str, Any]()
    if data:
        lists = _collect(data, embedder, limit, keywords, cache, options.json)
        with progress(options.json) as bar:
            task = bar.add_task("fitting", total=None)
            fitted = refit(lists, old, fit_options, lambda: bar.advance(task))
            relevance = ModelColumns(fitted.tables).relevance
            before = ModelColumns(old).relevance
            fits = {
                name: fit_need(lists, relevance, lexical=bool(lexical), old=before) for lexical, name in enumerate(NEED_COLUMNS)
            }
        needs = {name: fit for name, fit in fits.items() if fit is not None}
        tables = {**fitted.tables, **{name: fit.table for name, fit in needs.items()}}
        summary = {**figures([one for one in lists if one.needed], fitted), "need": need_figures(needs)}
        arguments = {"embedder": embedder, "loss": loss, "l2": l2, "limit": limit, "folds": folds or "by conversation"}
        provenance = origin(summary, arguments)
        if not options.json:
            show_fit(console(), summary, fitted)
            show_need(console(), needs)
    if feedback is not None:
        tables, comparisons = adapt(marked, tables, strength=strength)
        if not comparisons:
            raise InvalidInput(
                f"{feedback} has nothing to compare: mark some of what an assembly showed, not all or none of it"
            )
        summary["feedback"] = provenance["feedback"] = {"assemblies": len(marked), "strength": strength, **comparisons}
        if not options.json:
            counts = ", ".join(f"{name} {count}" for name, count in comparisons.items())
            console().print(f"Comparisons in the feedback: {counts}")
    if options.json:
        print_json({**summary, "model": tables})
    else:
        show_coefficients(console(), old, tables)
    if out is not None:
        _write_model(out, tables, provenance)
    if report is not None:
        from germane_eval.cli.fit import fit_page

        write_text(report, fit_page(summary, old, tables))


def _write_model(out: Path, tables: Any, provenance: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from germane_eval.fit.fitting import model_toml as written

    write_text(out, written(tables, provenance, datetime.now(UTC)))


def _collect(
    data: Sequence[Path], embedder: str, limit: int, keywords: bool, cache: Path | None, quiet: bool
) -> list[Candidates]:
    """The candidates of every question, from `cache` where it was written with the same data, options and code."""
    from germane_eval.everyday import turns
    from germane_eval.fit.candidates import evidence_code
    from germane_eval.fit.candidates import load_candidates as recover
    from germane_eval.fit.candidates import save_candidates as keep
    from germane_eval.fit.collect import collect_candidates
    from germane_eval.formats import load

    datasets = [load(path) for path in data]
    counts = [
        [dataset.name, len(dataset.conversations), sum(len(talk.questions) for talk in dataset.conversations)]
        for dataset in datasets
    ]
    made_of = {"data": counts, "embedder": embedder, "limit": limit, "keywords": keywords, "code": evidence_code()}
    cached = None if cache is None else recover(cache, made_of)
    if cached is not None:
        return cached
    collected: list[Candidates] = []
    with progress(quiet) as bar:
        for dataset in datasets:
            task = bar.add_task(dataset.name, total=None)

            def step(done: int, total: int, task: Any = task) -> None:
                bar.update(task, completed=done, total=total)

            collected += run_async(
                collect_candidates(
                    dataset, embedder=embedder, limit=limit, keywords=keywords, turns=turns("fit"), progress=step
                )
            )
    if cache is not None:
        keep(cache, collected, made_of)
    return collected


# `germane eval label`: marks which items of an assembly helped, for `germane eval fit --feedback`.


def label(
    context: typer.Context,
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="A trace that assemble --save-trace wrote; - is standard input.")
    ],
    helpful: Annotated[
        list[str] | None, typer.Option(help="The id, or the handle such as a3, of an item that helped (may be repeated).")
    ] = None,
    harmful: Annotated[
        list[str] | None, typer.Option(help="The id or the handle of an item that did harm (may be repeated).")
    ] = None,
    to: Annotated[Path, typer.Option(help="The feedback file to append to.")] = Path("feedback.jsonl"),
) -> None:
    """Mark which items of an assembly helped and which did harm, and append the marks to a feedback file.

    The file holds ids, marks and numbers, but no texts."""
    from germane.cli.assembly_screen import load
    from germane_eval.fit import feedback

    if not helpful and not harmful:
        raise InvalidInput("nothing is marked: give --helpful ID or --harmful ID (the ids are in germane explain --ids)")
    marked = feedback.label(load(trace).trace, helpful=helpful or (), harmful=harmful or ())
    if not marked.marks:
        raise InvalidInput("what is marked was shown for another reason than its likeness to the query: nothing to learn from")
    try:
        with to.open("a", encoding="utf-8") as file:
            file.write(feedback.line(marked) + "\n")
    except OSError as error:
        raise InvalidInput(f"{to} can't be written: {error.strerror}") from None
    if options_of(context).json:
        print_json({"file": str(to), "shown": len(marked.shown), "marked": marked.marks})
    else:
        console().print(f"marked {marked.marks} of {len(marked.shown)} shown, in {to}")


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
    from germane_eval.cli.run import EvaluationOptions, Outputs, parse_efforts, parse_names, parse_numbers, run
    from germane_eval.dataset import CLOCKS
    from germane_eval.run import KS

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
