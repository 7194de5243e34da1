"""`germane eval fit`: the relevance model's coefficients, from labelled conversations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.reading import write_text
from germane.cli.screen import answer, console, progress
from germane.cli.setting import finish, setting

if TYPE_CHECKING:
    from germane.evaluate.fit.lists import Candidates

__all__ = ["fit"]


def fit(
    context: typer.Context,
    data: Annotated[list[Path], typer.Argument(help="Data sets: files or folders, as germane eval reads them.")],
    out: Annotated[Path | None, typer.Option(help="Write the model to this TOML file.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Keep the evidence in this .npz file, and read it the next time.")] = None,
    compare_to: Annotated[Path | None, typer.Option(help="The model so far; the shipped one by default.")] = None,
    l2: Annotated[float, typer.Option(min=0.0, help="Penalty on standardised weights.")] = 10.0,
    folds: Annotated[int | None, typer.Option(min=2, help="Folds of whole conversations; one each by default.")] = None,
    limit: Annotated[int, typer.Option(min=10, help="Candidates a question.")] = 400,
    without: Annotated[list[str] | None, typer.Option(help="Leave this feature out (may be repeated).")] = None,
    loss: Annotated[str, typer.Option(help="softmax (listwise) or logistic.")] = "softmax",
    keywords: Annotated[bool, typer.Option(help="Fit the columns for search without vectors too.")] = True,
) -> None:
    """Fit the coefficients of the relevance model to questions whose answers are known, cross-validated by conversation.

    Shows what the old and the new model find within so many tokens, how far their probabilities can be trusted, and the
    coefficients of both. Use the result with Germane.open(relevance=FILE) or the setting relevance = "FILE"."""
    from datetime import UTC, datetime

    from germane.cli.fitted import figures, origin, show
    from germane.evaluate.fit.coefficients import load_tables, written
    from germane.evaluate.fit.columns import shipped_tables
    from germane.evaluate.fit.fitting import Options
    from germane.evaluate.fit.refit import refit

    chosen = setting(context)
    embedder = chosen.embedder or "static"
    options = Options.of(loss=loss, l2=l2, folds=folds, without=without or ())
    old = shipped_tables() if compare_to is None else load_tables(compare_to)
    lists = _lists(data, embedder, limit, keywords, cache, chosen.json)
    with progress(chosen.json) as shown:
        task = shown.add_task("fitting", total=None)
        found = refit(lists, old, options, lambda: shown.advance(task))
    told = figures(lists, found)
    if chosen.json:
        answer({**told, "model": found.tables})
    else:
        show(console(), told, found, old)
    if out is not None:
        settings = {"embedder": embedder, "loss": loss, "l2": l2, "limit": limit, "folds": folds or "by conversation"}
        write_text(out, written(found.tables, origin(told, settings), datetime.now(UTC)))


def _lists(
    data: Sequence[Path], embedder: str, limit: int, keywords: bool, cache: Path | None, quiet: bool
) -> list[Candidates]:
    from germane.evaluate.fit.asking import ask
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
            for vectors in (True, False)[: 1 + keywords]:
                task = shown.add_task(f"{one.name}{'' if vectors else ', keywords alone'}", total=None)

                def step(done: int, total: int, task: Any = task) -> None:
                    shown.update(task, completed=done, total=total)

                found += finish(ask(one, embedder=embedder, limit=limit, vectors=vectors, progress=step))
    if cache is not None:
        keep(cache, found, made_of)
    return found
