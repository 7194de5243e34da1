"""Fitted: what a fit came to, as tables for a person, as plain data for a program, as the origin of a model's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from germane.cli.screen import table
from germane.evaluate.fit.columns import Tables
from germane.evaluate.fit.lists import Candidates
from germane.evaluate.fit.packed import recall
from germane.evaluate.fit.refit import Refit
from germane.evaluate.fit.reliability import Reliability
from germane.types.evidence import FEATURES

__all__ = ["figures", "origin", "show", "show_coefficients"]

_RECALL = ("r250", "r500", "r1000", "a1000", "r2000")


def figures(lists: Sequence[Candidates], found: Refit) -> dict[str, Any]:
    """Recall by data set, reliability by column; before, and held out after."""
    return {
        "recall": [
            {"data": name, "keywords": keywords, "questions": len(rows), "before": before, "held_out": after}
            for (name, keywords), rows, before, after in _recalls(lists, found)
        ],
        "columns": {
            name: {
                "questions": judged.questions,
                "conversations": judged.conversations,
                "fitted": list(found.columns[name].fitted),
                "slope": found.columns[name].calibration.slope,
                "before": _plain(judged.before),
                "held_out": _plain(judged.after),
            }
            for name, judged in found.judged.items()
        },
    }


def origin(told: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a model's file says of where it comes from: `told` is what `figures` made."""
    sets = [f"{one['data']}: {one['questions']} questions" for one in told["recall"] if not one["keywords"]]
    made = {"data": sets, **settings}
    for one in told["recall"]:
        label = f"held_out_{one['data']}" + ("_keywords" if one["keywords"] else "")
        made[label] = {key: round(one["held_out"][key], 1) for key in _RECALL}
    for name, one in told["columns"].items():
        made[f"log_loss_{name}"] = round(one["held_out"]["log_loss"], 6)
    return made


def show(screen: Console, told: Mapping[str, Any], found: Refit) -> None:
    """Recall and reliability, old beside new."""
    screen.print("Percent of the evidence within so many tokens (an offline stand-in for the packer)")
    made = table("data", "", *_RECALL, right=_RECALL)
    for one in told["recall"]:
        label = f"{one['data']}{', keywords alone' if one['keywords'] else ''}"
        made.add_row(label, "before", *(f"{one['before'][key]:.1f}" for key in _RECALL))
        made.add_row("", "held out", *(f"{one['held_out'][key]:.1f}" for key in _RECALL))
    screen.print(made)
    screen.print("\nProbabilities, of conversations that were held out")
    screen.print(_calibration(found))
    for name, judged in found.judged.items():
        screen.print(f"\n{name}: what was said, and what came true")
        screen.print(_bins(judged.after))


def show_coefficients(screen: Console, old: Tables, new: Tables) -> None:
    """Of the columns that changed."""
    names = [name for name in new if new[name] != old.get(name)]
    made = table("", *names, right=tuple(names))
    for feature in ("intercept", *FEATURES):
        pairs = [(old.get(name, {}).get(feature, 0.0), new[name].get(feature, 0.0)) for name in names]
        if any(value for pair in pairs for value in pair):
            made.add_row(feature, *(f"{was:.2f} → {now:.2f}" if was or now else "" for was, now in pairs))
    screen.print("\nCoefficients, old → new")
    screen.print(made)


def _recalls(
    lists: Sequence[Candidates], found: Refit
) -> Iterator[tuple[tuple[str, bool], list[int], Mapping[str, float], Mapping[str, float]]]:
    groups: dict[tuple[str, bool], list[int]] = {}
    for row, one in enumerate(lists):
        groups.setdefault((one.dataset, one.keywords), []).append(row)
    for group, rows in groups.items():
        some = [lists[row] for row in rows]
        before, after = (recall(some, [odds[row] for row in rows]) for odds in (found.before, found.after))
        yield group, rows, before, after


def _plain(one: Reliability) -> dict[str, Any]:
    bins = [
        {"low": bin.low, "high": bin.high, "candidates": bin.candidates, "said": bin.said, "seen": bin.seen, "share": bin.share}
        for bin in one.bins
    ]
    return {"log_loss": one.log_loss, "brier": one.brier, "ece": one.ece, "said_per_relevant": one.ratio, "bins": bins}


def _calibration(found: Refit) -> Any:
    made = table("column", "questions", "", "log loss", "Brier", "ECE", "Σ P / relevant")
    for name, judged in found.judged.items():
        for label, one in (("before", judged.before), ("held out", judged.after)):
            head = (name, str(judged.questions)) if label == "before" else ("", "")
            made.add_row(*head, label, f"{one.log_loss:.5f}", f"{one.brier:.5f}", f"{one.ece:.5f}", f"{one.ratio:.2f}")
    return made


def _bins(one: Reliability) -> Any:
    made = table("P", "candidates", "said", "came true", "of all relevant", right=("candidates", "said", "came true"))
    for bin in one.bins:
        made.add_row(
            f"{bin.low:g}–{bin.high:g}", f"{bin.candidates:,}", f"{bin.said:.4f}", f"{bin.seen:.4f}", f"{bin.share:.1%}"
        )
    return made
