"""Fit page: the result of `germane eval fit` as Markdown, to document where a model's coefficients come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from germane.evaluate.fit.columns import BESIDES, COEFFICIENTS, Tables

__all__ = ["fit_page"]

_RECALL = ("r250", "r500", "r1000", "a1000", "r2000")


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
