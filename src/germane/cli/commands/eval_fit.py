"""`germane eval fit`: fits the coefficients of the relevance model to labelled conversations and to feedback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.files import read_text, write_text
from germane.cli.global_options import options_of, run_async
from germane.cli.screen import console, print_json, progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.evaluate.fit.lists import Candidates

__all__ = ["fit"]


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
    from germane.cli.evaluation.fit_tables import figures, need_figures, origin, show_coefficients, show_fit, show_need
    from germane.evaluate.fit.adapt import adapt
    from germane.evaluate.fit.coefficients import load_tables
    from germane.evaluate.fit.columns import NEED_COLUMNS, ModelColumns, shipped_tables
    from germane.evaluate.fit.feedback import marked_lines
    from germane.evaluate.fit.fitting import Options
    from germane.evaluate.fit.need import fit_need
    from germane.evaluate.fit.refit import refit

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
        from germane.cli.evaluation.fit_page import fit_page

        write_text(report, fit_page(summary, old, tables))


def _write_model(out: Path, tables: Any, provenance: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from germane.evaluate.fit.coefficients import written

    write_text(out, written(tables, provenance, datetime.now(UTC)))


def _collect(
    data: Sequence[Path], embedder: str, limit: int, keywords: bool, cache: Path | None, quiet: bool
) -> list[Candidates]:
    """The candidates of every question, from `cache` where it was written with the same data, options and code."""
    from germane.evaluate.fit.collect import collect_candidates
    from germane.evaluate.fit.kept import evidence_code, keep, recover
    from germane.evaluate.formats.load import load
    from germane.evaluate.need.turns import turns

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
