"""`germane eval fit`: the relevance model's coefficients, from labelled conversations and from feedback."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.global_options import finish, setting
from germane.cli.reading import read_text, write_text
from germane.cli.screen import answer, console, progress
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.evaluate.fit.lists import Candidates

__all__ = ["fit"]


def fit(
    context: typer.Context,
    data: Annotated[list[Path] | None, typer.Argument(help="Data sets: files or folders, as germane eval reads them.")] = None,
    feedback: Annotated[Path | None, typer.Option(help="Marks of your own, a file that germane eval label wrote.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the model to this TOML file.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write all figures to this file, as Markdown.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Keep the evidence in this .npz file, and read it the next time.")] = None,
    compare_to: Annotated[Path | None, typer.Option(help="The model so far; the shipped one by default.")] = None,
    l2: Annotated[float, typer.Option(min=0.0, help="Penalty on standardised weights.")] = 10.0,
    strength: Annotated[float, typer.Option(min=0.01, help="How hard feedback finds the weights to move.")] = 50.0,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of whole conversations; one each by default.")] = None,
    limit: Annotated[int, typer.Option(min=10, help="Candidates a question.")] = 400,
    without: Annotated[list[str] | None, typer.Option(help="Leave this feature out (may be repeated).")] = None,
    loss: Annotated[str, typer.Option(help="softmax (listwise) or logistic.")] = "softmax",
    keywords: Annotated[bool, typer.Option(help="Fit the columns for search without vectors too.")] = True,
) -> None:
    """Fit the coefficients of the relevance model: to questions whose answers are known, cross-validated by conversation, and
    to feedback, by which the model is moved as far as there is feedback.

    Shows what the old and the new model find within so many tokens, how far their probabilities can be trusted, and the
    coefficients of both. Use the result with Germane.open(relevance=FILE) or the setting relevance = "FILE"."""
    from germane.cli.fitted import figures, origin, show, show_coefficients
    from germane.evaluate.fit.adapt import adapt
    from germane.evaluate.fit.coefficients import load_tables
    from germane.evaluate.fit.columns import shipped_tables
    from germane.evaluate.fit.feedback import marked_lines
    from germane.evaluate.fit.fitting import Options
    from germane.evaluate.fit.refit import refit

    chosen = setting(context)
    embedder = chosen.embedder or "static"
    options = Options.of(loss=loss, l2=l2, folds=folds, without=without or ())
    old = shipped_tables(contextual=embedder != "static") if compare_to is None else load_tables(compare_to)
    if not data and feedback is None:
        raise InvalidInput("nothing to fit to: give DATA, --feedback FILE, or both")
    marked = [] if feedback is None else marked_lines(read_text(str(feedback)), str(feedback))
    tables, told, made_of = old, dict[str, Any](), dict[str, Any]()
    if data:
        lists = _lists(data, embedder, limit, keywords, cache, chosen.json)
        with progress(chosen.json) as shown:
            task = shown.add_task("fitting", total=None)
            found = refit(lists, old, options, lambda: shown.advance(task))
        tables, told = found.tables, figures(lists, found)
        settings = {"embedder": embedder, "loss": loss, "l2": l2, "limit": limit, "folds": folds or "by conversation"}
        made_of = origin(told, settings)
        if not chosen.json:
            show(console(), told, found)
    if feedback is not None:
        tables, learnt = adapt(marked, tables, strength=strength)
        if not learnt:
            raise InvalidInput(
                f"{feedback} has nothing to compare: mark some of what an assembly showed, not all or none of it"
            )
        told["feedback"] = made_of["feedback"] = {"assemblies": len(marked), "strength": strength, **learnt}
        if not chosen.json:
            console().print("Comparisons in the feedback: " + ", ".join(f"{name} {many}" for name, many in learnt.items()))
    if chosen.json:
        answer({**told, "model": tables})
    else:
        show_coefficients(console(), old, tables)
    if out is not None:
        _write(out, tables, made_of)
    if report is not None:
        from germane.cli.fit_page import page

        write_text(report, page(told, old, tables))


def _write(out: Path, tables: Any, made_of: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from germane.evaluate.fit.coefficients import written

    write_text(out, written(tables, made_of, datetime.now(UTC)))


def _lists(
    data: Sequence[Path], embedder: str, limit: int, keywords: bool, cache: Path | None, quiet: bool
) -> list[Candidates]:
    from germane.evaluate.fit.collect import collect_candidates
    from germane.evaluate.fit.kept import evidence_code, keep, recover
    from germane.evaluate.formats.load import load

    sets = [load(path) for path in data]
    counts = [[one.name, len(one.conversations), sum(len(each.questions) for each in one.conversations)] for one in sets]
    made_of = {"data": counts, "embedder": embedder, "limit": limit, "keywords": keywords, "code": evidence_code()}
    known = None if cache is None else recover(cache, made_of)
    if known is not None:
        return known
    found: list[Candidates] = []
    with progress(quiet) as shown:
        for one in sets:
            task = shown.add_task(one.name, total=None)

            def step(done: int, total: int, task: Any = task) -> None:
                shown.update(task, completed=done, total=total)

            found += finish(collect_candidates(one, embedder=embedder, limit=limit, keywords=keywords, progress=step))
    if cache is not None:
        keep(cache, found, made_of)
    return found
