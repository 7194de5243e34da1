"""Fit: the result of `germane eval fit` as tables, JSON values, a page, and as the provenance of a model file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from germane.cli.screen import table
from germane.search.relevance import COEFFICIENTS
from germane_eval.fit.candidates import Candidates, recall
from germane_eval.fit.fitting import BESIDES, Refit, Tables
from germane_eval.fit.loss import Reliability
from germane_eval.fit.need import NEED_THRESHOLDS, NeedFit

_RECALL = ("r250", "r500", "r1000", "a1000", "r2000")


def figures(lists: Sequence[Candidates], fitted: Refit) -> dict[str, Any]:
    """Returns the recall by data set and the reliability by column, each with the old model and, held out, with the new one."""
    return {
        "recall": [
            {"data": name, "keywords": keywords, "questions": len(rows), "before": before, "held_out": after}
            for (name, keywords), rows, before, after in _recalls(lists, fitted)
        ],
        "columns": {
            name: {
                "questions": judged.questions,
                "conversations": judged.conversations,
                "fitted": list(fitted.columns[name].fitted),
                "slope": fitted.columns[name].calibration.slope,
                "before": _plain(judged.before),
                "held_out": _plain(judged.after),
            }
            for name, judged in fitted.judged.items()
        },
    }


def need_figures(fits: Mapping[str, NeedFit]) -> dict[str, Any]:
    """Returns the held-out figures of P(need), by column."""
    return {
        name: {
            "questions": fit.questions,
            "turns": fit.turns,
            "thresholds": [{"threshold": at, "turns": turns, "lost": lost} for at, turns, lost in fit.thresholds],
            "groups": [{**reach._asdict(), "label": reach.label, "thresholds": list(NEED_THRESHOLDS)} for reach in fit.groups],
        }
        for name, fit in fits.items()
    }


def show_need(screen: Console, fits: Mapping[str, NeedFit]) -> None:
    """Print what each threshold on P(need) lets through, by conversations that were held out: in all, and by data set."""
    screen.print("\nP(need): percent of the turns without need that reach a threshold, and of the questions that don't")
    rows = table("column", "threshold", "turns", "questions lost", right=("threshold", "turns", "questions lost"))
    for name, fit in fits.items():
        for at, turns, lost in fit.thresholds:
            rows.add_row(name if at == fit.thresholds[0][0] else "", f"{at:.1f}", f"{turns:.1f}", f"{lost:.1f}")
    screen.print(rows)
    for name, fit in fits.items():
        screen.print(f"\n{name}: percent of each group that reach a threshold")
        screen.print(_groups(fit))


def origin(summary: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the provenance for the model's file, from the result of `figures` and the arguments of the fit."""
    sets = [f"{entry['data']}: {entry['questions']} questions" for entry in summary["recall"] if not entry["keywords"]]
    provenance = {"data": sets, **settings}
    for entry in summary["recall"]:
        label = f"held_out_{entry['data']}" + ("_keywords" if entry["keywords"] else "")
        provenance[label] = {key: round(entry["held_out"][key], 1) for key in _RECALL}
    for name, entry in summary["columns"].items():
        provenance[f"log_loss_{name}"] = round(entry["held_out"]["log_loss"], 6)
    return provenance


def show_fit(screen: Console, summary: Mapping[str, Any], fitted: Refit) -> None:
    """Print recall and reliability of the old and the new model. `summary` is the result of `figures`."""
    screen.print("Percent of the evidence within so many tokens (an offline stand-in for the packer)")
    rows = table("data", "", *_RECALL, right=_RECALL)
    for entry in summary["recall"]:
        label = f"{entry['data']}{', keywords alone' if entry['keywords'] else ''}"
        rows.add_row(label, "before", *(f"{entry['before'][key]:.1f}" for key in _RECALL))
        rows.add_row("", "held out", *(f"{entry['held_out'][key]:.1f}" for key in _RECALL))
    screen.print(rows)
    screen.print("\nProbabilities, of conversations that were held out")
    screen.print(_calibration(fitted))
    for name, judged in fitted.judged.items():
        screen.print(f"\n{name}: what was said, and what came true")
        screen.print(_bins(judged.after))


def show_coefficients(screen: Console, old: Tables, new: Tables) -> None:
    """Print the coefficients of the columns that changed."""
    names = [name for name in new if new[name] != old.get(name) and name not in BESIDES]
    made = table("", *names, right=tuple(names))
    for feature in ("intercept", *COEFFICIENTS):
        pairs = [(old.get(name, {}).get(feature, 0.0), new[name].get(feature, 0.0)) for name in names]
        if any(value for pair in pairs for value in pair):
            made.add_row(feature, *(f"{was:.2f} → {now:.2f}" if was or now else "" for was, now in pairs))
    screen.print("\nCoefficients, old → new")
    screen.print(made)


def _recalls(
    lists: Sequence[Candidates], fitted: Refit
) -> Iterator[tuple[tuple[str, bool], list[int], Mapping[str, float], Mapping[str, float]]]:
    groups: dict[tuple[str, bool], list[int]] = {}
    for row, candidates in enumerate(lists):
        groups.setdefault((candidates.dataset, candidates.keywords), []).append(row)
    for group, rows in groups.items():
        some = [lists[row] for row in rows]
        before, after = (recall(some, [odds[row] for row in rows]) for odds in (fitted.before, fitted.after))
        yield group, rows, before, after


def _groups(fit: NeedFit) -> Table:
    """Without the categories of the questions, which the report's file and the JSON have."""
    heads = tuple(f"{at:.1f}" for at in NEED_THRESHOLDS)
    rows = table("data", "", "", "n", *heads, right=("n", *heads))
    dataset = ""
    for reach in (one for one in fit.groups if not one.needed or one.group == "questions"):
        name = reach.dataset if reach.dataset != dataset else ""
        dataset = reach.dataset
        rows.add_row(name, reach.label, "before", f"{reach.requests:,}", *(f"{share:.1f}" for share in reach.before))
        rows.add_row("", "", "held out", "", *(f"{share:.1f}" for share in reach.held_out))
    return rows


def _plain(reliability: Reliability) -> dict[str, Any]:
    bins = [
        {"low": bin.low, "high": bin.high, "candidates": bin.candidates, "said": bin.said, "seen": bin.seen, "share": bin.share}
        for bin in reliability.bins
    ]
    return {
        "log_loss": reliability.log_loss,
        "brier": reliability.brier,
        "ece": reliability.ece,
        "said_per_relevant": reliability.ratio,
        "bins": bins,
    }


def _calibration(fitted: Refit) -> Any:
    rows = table("column", "questions", "", "log loss", "Brier", "ECE", "Σ P / relevant")
    for name, judged in fitted.judged.items():
        for label, reliability in (("before", judged.before), ("held out", judged.after)):
            head = (name, str(judged.questions)) if label == "before" else ("", "")
            rows.add_row(
                *head,
                label,
                f"{reliability.log_loss:.5f}",
                f"{reliability.brier:.5f}",
                f"{reliability.ece:.5f}",
                f"{reliability.ratio:.2f}",
            )
    return rows


def _bins(reliability: Reliability) -> Any:
    rows = table("P", "candidates", "said", "came true", "of all relevant", right=("candidates", "said", "came true"))
    for bin in reliability.bins:
        rows.add_row(
            f"{bin.low:g}–{bin.high:g}", f"{bin.candidates:,}", f"{bin.said:.4f}", f"{bin.seen:.4f}", f"{bin.share:.1%}"
        )
    return rows


# The result as Markdown, to document where a model's coefficients come from.


def fit_page(summary: Mapping[str, Any], old: Tables, new: Tables) -> str:
    """Returns the page. `summary` is the result of `fit_tables.figures`; a section without data is left out."""
    parts = []
    if "recall" in summary:
        parts.append(_recall(summary["recall"]))
    if "columns" in summary:
        parts.append(_probabilities(summary["columns"]))
        parts += [_reliability(name, column["held_out"]["bins"]) for name, column in summary["columns"].items()]
    if summary.get("need"):
        parts.append(_need(summary["need"]))
        parts += [_reach(name, column["groups"]) for name, column in summary["need"].items()]
    parts.append(_coefficients(old, new))
    return "\n\n".join(parts) + "\n"


def _recall(recalls: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for entry in recalls:
        label = f"{entry['data']}{', keywords alone' if entry['keywords'] else ''}"
        rows.append([label, "before", *(f"{entry['before'][key]:.1f}" for key in _RECALL)])
        rows.append(["", "held out", *(f"{entry['held_out'][key]:.1f}" for key in _RECALL)])
    return "Percent of the evidence within so many tokens, by the stand-in for the packer:\n\n" + _table(
        ["data", "", "250", "500", "1,000", "all of it in 1,000", "2,000"], rows
    )


def _probabilities(columns: Mapping[str, Any]) -> str:
    rows = []
    for name, column in columns.items():
        for label in ("before", "held_out"):
            figures = column[label]
            head = [name, f"{column['questions']}"] if label == "before" else ["", ""]
            numbers = [
                f"{figures['log_loss']:.5f}",
                f"{figures['brier']:.5f}",
                f"{figures['ece']:.5f}",
                f"{figures['said_per_relevant']:.2f}",
            ]
            rows.append([*head, label.replace("_", " "), *numbers])
    return _table(["column", "questions", "", "log loss", "Brier", "ECE", "Σ P / relevant"], rows)


def _reliability(name: str, bins: Sequence[Mapping[str, float]]) -> str:
    rows = [
        [
            f"{bin['low']:g}–{bin['high']:g}",
            f"{bin['candidates']:,}",
            f"{bin['said']:.4f}",
            f"{bin['seen']:.4f}",
            f"{bin['share']:.1%}",
        ]
        for bin in bins
    ]
    return f"`{name}`, held out:\n\n" + _table(["P", "candidates", "said", "came true", "of all relevant"], rows)


def _need(columns: Mapping[str, Any]) -> str:
    rows = [
        [f"`{name}`", f"{one['threshold']:.1f}", f"{one['turns']:.1f} %", f"{one['lost']:.1f} %"]
        for name, column in columns.items()
        for one in column["thresholds"]
    ]
    return "P(need), held out:\n\n" + _table(["column", "threshold", "turns without need above it", "questions below it"], rows)


def _reach(name: str, groups: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for reach in groups:
        before, after = ([f"{share:.1f}" for share in reach[key]] for key in ("before", "held_out"))
        rows.append([reach["dataset"], reach["label"], "before", f"{reach['requests']:,}", *before])
        rows.append(["", "", "held out", "", *after])
    heads = [f"{at:.1f}" for at in groups[0]["thresholds"]] if groups else []
    return f"`{name}`, percent of each group that reach a threshold:\n\n" + _table(["data", "", "", "n", *heads], rows)


def _coefficients(old: Tables, new: Tables) -> str:
    names = [name for name in new if name not in BESIDES]
    rows = []
    for feature in ("intercept", *COEFFICIENTS):
        pairs = [(old.get(name, {}).get(feature, 0.0), new[name].get(feature, 0.0)) for name in names]
        if any(value for pair in pairs for value in pair):
            rows.append([f"`{feature}`", *(f"{was:.2f} → {now:.2f}" if was != now else f"{now:.2f}" for was, now in pairs)])
    return "Coefficients, old → new:\n\n" + _table(["", *(f"`{name}`" for name in names)], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)
