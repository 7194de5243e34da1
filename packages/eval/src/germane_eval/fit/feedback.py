"""Feedback: marks on the items of an assembly (helpful or harmful) as JSON Lines, and weights moved by them.

The trace of one assembly and its marks make one `Marked`. A file of them holds ids, marks, numbers and the evidence of the
items, no text. Only shown items have marks: a fit to feedback improves the order of what the model finds already, and can't
learn what the model misses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.search.relevance import COEFFICIENTS, design, matrix
from germane.types.candidate import Chosen
from germane.types.evidence import FEATURES, REASONS, Evidence
from germane.types.trace import Trace
from germane_eval.fit.fitting import JUDGED, ModelColumns, Tables
from germane_eval.fit.loss import Problem, minimise, softmax

Mark = Literal["helpful", "harmful", ""]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedItem:
    """A shown item; `mark` is empty for an unmarked one."""

    id: str
    evidence: Evidence
    mark: Mark = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """The items that one assembly showed for their likeness to the query, in rendered order, with their marks."""

    shown: tuple[MarkedItem, ...]

    @property
    def marks(self) -> int:
        """Number of marked items."""
        return sum(1 for item in self.shown if item.mark)


def label(trace: Trace, *, helpful: Iterable[str] = (), harmful: Iterable[str] = ()) -> Marked:
    """Marks the items of an assembly, named by id or by handle (`a3`). Items that were shown for another reason than their
    likeness to the query (pinned, of the running session, recent) are left out: feedback on them says nothing about likeness.
    Raises `InvalidInput` for an item that wasn't shown, or that is marked as helpful and as harmful."""
    good, bad = set(helpful), set(harmful)
    if both := sorted(good & bad):
        raise InvalidInput(f"{both[0]!r} is marked as helpful and as harmful: choose one")
    known = {name for item in trace.chosen for name in (item.id, item.handle)} - {""}
    if strangers := sorted((good | bad) - known):
        raise InvalidInput(f"{strangers[0]!r} wasn't shown: give an id or a handle of what was ({len(trace.chosen)} items)")
    return Marked(shown=tuple(_shown(item, good, bad) for item in trace.chosen if not _for_another_reason(item)))


def line(marked: Marked) -> str:
    """One line of a feedback file, without line end. Zeros and missing cosines are left out."""
    rows = [
        {"id": item.id, **({"mark": item.mark} if item.mark else {}), "evidence": _numbers(item.evidence)}
        for item in marked.shown
    ]
    return json.dumps({"type": "germane-feedback", "shown": rows}, ensure_ascii=False)


def marked_lines(text: str, where: str = "feedback") -> list[Marked]:
    """Reads the lines of a feedback file; blank ones are skipped. `where` names the file in errors. Raises `InvalidInput`
    naming the line that can't be read, or that has a feature of another version of germane."""
    found = []
    for number, written in enumerate(text.splitlines(), start=1):
        if written.strip():
            try:
                found.append(_read(json.loads(written)))
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
                said = error if isinstance(error, InvalidInput) else "not what germane eval label writes"
                raise InvalidInput(f"{where}, line {number}: {said}") from error
    return found


def _shown(item: Chosen, good: set[str], bad: set[str]) -> MarkedItem:
    names = {item.id, item.handle}
    mark: Mark = "helpful" if names & good else "harmful" if names & bad else ""
    return MarkedItem(id=item.id, evidence=item.scored.candidate.evidence, mark=mark)


def _for_another_reason(item: Chosen) -> bool:
    evidence = item.scored.candidate.evidence
    return item.scored.candidate.required or any(getattr(evidence, name) > 0 for name in REASONS)


def _numbers(evidence: Evidence) -> dict[str, float]:
    values = ((name, getattr(evidence, name)) for name in FEATURES)
    return {name: round(float(value), 6) for name, value in values if value is not None and (value or name.startswith("cos_"))}


def _read(found: Mapping[str, Any]) -> Marked:
    if found["type"] != "germane-feedback":
        raise KeyError("type")
    shown = []
    for row in found["shown"]:
        numbers, mark = row["evidence"], row.get("mark", "")
        if strangers := sorted(set(numbers) - set(FEATURES)):
            raise InvalidInput(f"unknown evidence {strangers[0][:40]!r}: kept by another version of germane, mark it anew")
        if mark not in ("helpful", "harmful", "") or not all(isfinite(value) for value in numbers.values()):
            raise KeyError("mark")
        evidence = Evidence(**{key: float(numbers[key]) for key in numbers})
        shown.append(MarkedItem(id=str(row["id"]), evidence=evidence, mark=mark))
    return Marked(shown=tuple(shown))


# Moves the weights of a relevance model by feedback on shown items. Feedback teaches an order: of the items that one
# assembly showed, the helpful ones are better than the others, and the unmarked ones better than the harmful ones (a
# softmax loss for each of the two comparisons). Intercepts stay, because shown items don't tell how many of all
# candidates are relevant. A Gaussian prior of fixed width holds the weights to the current model: a handful of marks
# changes almost nothing, and hundreds of marks outweigh the prior.


STRENGTH = 50.0
"""Penalty on standardised weights: the current model weighs as much as about fifty assemblies with marks."""

_MIN_SPREAD = 0.15
"""Lower bound of a feature's standard deviation: a feature that hardly varies among the shown items teaches little."""

Floats = NDArray[np.float64]
Comparison = tuple[Floats, NDArray[np.bool_]]


def adapt(feedback: Sequence[Marked], tables: Tables, *, strength: float = STRENGTH) -> tuple[Tables, dict[str, int]]:
    """Returns the new model, and the number of comparisons by column. Columns without comparisons, and the weights in `JUDGED`,
    stay as they are. A higher `strength` holds the weights closer to `tables`."""
    columns = ModelColumns(tables)
    adapted: dict[str, dict[str, float]] = {name: dict(table) for name, table in tables.items()}
    learnt: dict[str, int] = {}
    for name in columns.names:
        comparisons = [comparison for marked in feedback for comparison in _comparisons(marked, columns, name)]
        if comparisons:
            learnt[name] = len(comparisons)
            moved = _moved_weights(comparisons, columns.weights(name), strength)
            adapted[name] |= {feature: weight for feature, weight in zip(COEFFICIENTS, moved.tolist(), strict=True) if weight}
    return adapted, learnt


def _comparisons(marked: Marked, columns: ModelColumns, name: str) -> Iterator[Comparison]:
    """The shown items that column `name` scores: evidence and products, shape (items, coefficients), and which of them
    are better."""
    table = matrix([item.evidence for item in marked.shown])
    here = columns.of(table) == columns.names.index(name)
    marks = np.array([item.mark for item in marked.shown], dtype=str)[here]
    table = design(np.nan_to_num(table[here]))
    helpful, harmful = marks == "helpful", marks == "harmful"
    for rows, better in ((np.ones(len(marks), np.bool_), helpful), (~helpful, ~harmful)):
        chosen = better[rows]
        if chosen.any() and not chosen.all():
            yield table[rows], chosen


def _moved_weights(comparisons: Sequence[Comparison], weights: Floats, strength: float) -> Floats:
    rows = np.concatenate([table for table, _ in comparisons])
    counts = np.array([len(better) for _, better in comparisons], np.intp)
    where = np.flatnonzero((rows.std(axis=0) > 1e-9) & ~np.isin(COEFFICIENTS, JUDGED))
    spread = np.maximum(rows.std(axis=0), _MIN_SPREAD)
    if not len(where):
        return weights
    fixed = weights.copy()
    fixed[where] = 0.0
    centre = weights[where] * spread[where]
    problem = Problem(
        features=rows[:, where] / spread[where],
        relevant=np.concatenate([better for _, better in comparisons]),
        starts=np.cumsum(counts) - counts,
        offset=rows @ fixed,
        centre=centre,
        stiffness=np.full(len(where), strength),
    )
    moved = weights.copy()
    moved[where] = minimise(softmax(problem), centre) / spread[where]
    return moved
