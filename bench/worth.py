"""Worth: fits what a profile and the clauses of messages are chosen by, cross-validated by person (PERSON-1, PERSON-2).

    python -m bench worth ../shared/data/everyday-dev --more ../shared/data/prefeval-dev --write

Three kinds of models are fitted, one after the other, each on what the others before it say:

- `profile/worth.toml` with `telling_words.tsv`: how probable a clause is a standing instruction, says something lasting, or
  says what matters unasked. Fitted on `person.jsonl` alone: invented messages in fourteen languages whose clauses are
  labelled, most of them those of invented people in the order of time, who mostly say nothing of the kind.
- `search/clause_relevance.toml`, table `clause`: how probable a clause holds what a request needs.
- the same, table `need`: P(need). Requests that need something stored, those that need nothing, and germane's turns without
  need, asked in the same stores.

Without `--write` it prints what is found, each person by models that didn't see that person, and leaves the files as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.clause_evidence import ClauseList, clause_lists
from bench.word_weights import LabelledMessage, count_words, write_words
from germane.evaluate.dataset import Dataset
from germane.evaluate.fit.newton import minimise
from germane.evaluate.formats import load
from germane.profile.telling_words import MODELS, WordWeights
from germane.profile.worth import FEATURES, NEIGHBOURS, clause_features, with_neighbours
from germane.search.clause_relevance import CLAUSE_FEATURES, CLAUSE_NEED
from germane.search.sigmoid import sigmoid
from germane.text.clauses import Span, clauses

__all__ = ["main", "ridge"]

Floats = NDArray[np.float64]
_SAMPLE = Path(__file__).with_name("person.jsonl")
_SOURCE = Path(__file__).parent.parent / "src" / "germane"
_LABELLED = 0.4
"""The share of a clause's characters with a label from which on the clause has it."""
_LABELS = {"rule": ("rule",), "lasting": ("matters", "fact"), "matters": ("matters",)}
"""The labels of a clause in the sample for which each model's answer is yes."""
_OF_RULES = "instruction"
_L2 = {"worth": 25.0, "clause": 20.0, "need": 10.0}
_LIMIT = 8.0
_FOLDS = 6
_CAUTION = 0.45
"""Log-odds by which P(need) is lowered: what is added for nothing costs more than the one statement in twenty that it loses."""


def ridge(table: Floats, labels: Floats, l2: float, weights: Floats | None = None) -> Floats:
    """Returns the coefficients of a logistic regression, shape (columns + 1,), the intercept last. Each column is scaled by its
    standard deviation, at least 0.1, before `l2` is applied."""
    given = np.ones(len(labels)) if weights is None else weights
    mean, deviation = table.mean(axis=0), np.maximum(table.std(axis=0), 0.1)
    scaled = np.column_stack(((table - mean) / deviation, np.ones(len(labels))))
    penalty = np.append(np.full(table.shape[1], l2), 1e-3)

    def loss(point: Floats) -> tuple[float, Floats, Floats]:
        odds = scaled @ point
        chance = sigmoid(odds)
        value = float((given * (np.logaddexp(0, odds) - labels * odds)).sum() + 0.5 * (penalty * point * point).sum())
        gradient = scaled.T @ (given * (chance - labels)) + penalty * point
        curvature = (scaled * (given * chance * (1 - chance))[:, None]).T @ scaled + np.diag(penalty)
        return value, gradient, curvature

    share = float((given * labels).sum() / given.sum())
    found = minimise(loss, np.append(np.zeros(table.shape[1]), log(share / (1 - share))))
    slopes = found[:-1] / deviation
    return np.append(slopes, found[-1] - float(slopes @ mean))


def _of_sample() -> Iterable[LabelledMessage]:
    for number, line in enumerate(_SAMPLE.read_text("utf-8").splitlines()):
        entry = json.loads(line)
        text, places, at = "", list[tuple[int, int, str]](), 0
        for part, label in entry["parts"]:
            text += part
            places.append((at, at + len(part), label))
            at += len(part)
        spans = clauses(text)
        if spans:
            labels = {model: [_share(span, places, _LABELS[model]) >= _LABELLED for span in spans] for model in MODELS}
            arrays = {model: np.array(row, np.float64) for model, row in labels.items()}
            yield LabelledMessage(entry.get("person", f"message {number}"), text, spans, arrays)


def _share(span: Span, places: Sequence[tuple[int, int, str]], labels: Sequence[str]) -> float:
    start, end = span
    return sum(max(0, min(end, last) - max(start, first)) for first, last, one in places if one in labels) / (end - start)


class _Worth(NamedTuple):
    """The models, by name and pass, and the weights of words."""

    models: Mapping[str, Mapping[str, Floats]]
    weights: WordWeights


def _fit_worth(messages: Sequence[LabelledMessage]) -> _Worth:
    """What words say of a message is counted without its person when the models are fitted on it."""
    people = sorted({one.person for one in messages})
    fold = {person: number % _FOLDS for number, person in enumerate(np.random.default_rng(1).permutation(people).tolist())}
    tables: dict[int, Floats] = {}
    for number in range(_FOLDS):
        weights = count_words([one for one in messages if fold[one.person] != number])
        for place, one in enumerate(messages):
            if fold[one.person] == number:
                tables[place] = clause_features(one.text, one.spans, weights)
    found = [tables[place] for place in range(len(messages))]
    fitted: dict[str, dict[str, Floats]] = {}
    for name in MODELS:
        labels = np.concatenate([one.labels[name] for one in messages])
        alone = ridge(np.vstack(found), labels, _L2["worth"])
        seen = [with_neighbours(table, np.clip(table @ alone[:-1] + alone[-1], -_LIMIT, _LIMIT)) for table in found]
        fitted[name] = {"alone": alone, "beside": ridge(np.vstack(seen), labels, _L2["worth"])}
    return _Worth(fitted, count_words(messages))


def _stacked(lists: Sequence[ClauseList]) -> tuple[Floats, Floats]:
    return np.vstack([one.rows for one in lists]), np.concatenate([one.relevant for one in lists])


def _fit_need(lists: Sequence[ClauseList]) -> Floats:
    """Requests for a standing instruction, and for what was never said, say nothing of whether a search is worth it."""
    used = [one for one in lists if one.need is not None and one.category not in (_OF_RULES, "unknown")]
    weight = {"none": 5.0, "turn": 1.6}
    table = np.vstack([one.need for one in used if one.need is not None])
    labels = np.array([float(one.needed) for one in used])
    weights = np.array([weight.get(one.category, 1.0) * one.weight for one in used])
    fitted = ridge(table, labels, _L2["need"], weights)
    fitted[-1] -= _CAUTION
    return fitted


def _report(lists: Sequence[ClauseList], people: Sequence[str]) -> None:
    """Prints, for some prices, what is found in how many tokens, and how often P(need) is met."""
    chances, needs = dict[int, Floats](), dict[int, float]()
    for person in people:
        others = [one for one in lists if one.person != person]
        clause, need = ridge(*_stacked([one for one in others if one.main]), _L2["clause"]), _fit_need(others)
        for number, one in enumerate(lists):
            if one.person == person:
                chances[number] = sigmoid(one.rows @ clause[:-1] + clause[-1])
                if one.need is not None:
                    needs[number] = float(sigmoid(np.array([one.need @ need[:-1] + need[-1]]))[0])
    wanted = [number for number, one in enumerate(lists) if one.main and one.needed and one.category != _OF_RULES]
    for price in (8e-4, 6e-4, 5e-4, 4e-4, 3e-4):
        shown = {number: np.flatnonzero(chances[number] / lists[number].tokens >= price) for number in wanted}
        found = np.mean([lists[number].found(places.tolist()) for number, places in shown.items()])
        tokens = np.mean([lists[number].tokens[places].sum() for number, places in shown.items()])
        print(f"price {price:.4f}: {found:6.1%} found in {tokens:5.0f} tokens")
    for threshold in (0.1, 0.13, 0.2, 0.3):
        met = partial(_met, lists, needs, threshold)
        print(
            f"P(need) ≥ {threshold}: "
            + ", ".join(f"{name} {met(name):.0%}" for name in dict.fromkeys(one.category for one in lists))
        )


def _met(lists: Sequence[ClauseList], needs: Mapping[int, float], threshold: float, category: str) -> float:
    known = [float(needs[number] >= threshold) for number in needs if lists[number].category == category]
    return sum(known) / max(1, len(known))


def _toml(tables: Mapping[str, tuple[Floats, Sequence[str]]]) -> str:
    parts = list[str]()
    for name, (row, names) in tables.items():
        lines = [f"[{name}]", f"intercept = {row[-1]:.4f}"]
        for feature, value in zip(names, row, strict=False):
            if abs(value) >= 5e-5:
                lines.append(f'"{feature}" = {value:.4f}' if ":" in feature else f"{feature} = {value:.4f}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


_HEAD = "# {what}\n# Written by `python -m bench worth`; docs/research/everyday.md says on what they were fitted.\n\n"


def _write(path: Path, what: str, tables: Mapping[str, tuple[Floats, Sequence[str]]]) -> None:
    path.write_text(_HEAD.format(what=what) + _toml(tables), "utf-8")


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench worth", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of everyday data")
    parser.add_argument("--more", type=Path, help="a second folder, which takes part in P(need) alone")
    parser.add_argument("--write", action="store_true", help="write the fitted models into the package")
    options = parser.parse_args(arguments)
    data: Dataset = load(options.data)
    if options.write:
        fitted = _fit_worth(list(_of_sample()))
        names = {"alone": FEATURES, "beside": (*FEATURES, *NEIGHBOURS)}
        _write(
            _SOURCE / "profile" / "worth.toml",
            "How much a clause tells: logistic regressions over its cues, shape and place, in two passes (`worth.py`).",
            {f"{model}.{part}": (row, names[part]) for model, rows in fitted.models.items() for part, row in rows.items()},
        )
        write_words(_SOURCE / "profile" / "telling_words.tsv", fitted.weights)
        print(f"profile/worth.toml and telling_words.tsv ({len(fitted.weights)} tokens) are written", flush=True)
    lists = asyncio.run(clause_lists(data, main=True))
    if options.more is not None:
        more = asyncio.run(clause_lists(load(options.more), main=False))
        lists += [replace(one, weight=0.4) if one.category != "turn" else one for one in more]
    _report(lists, list(dict.fromkeys(one.person for one in lists)))
    if options.write:
        _write(
            _SOURCE / "search" / "clause_relevance.toml",
            "Clause relevance and P(need) where clauses are shown: coefficients of `clause_relevance.py`.",
            {
                "clause": (ridge(*_stacked([one for one in lists if one.main]), _L2["clause"]), CLAUSE_FEATURES),
                "need": (_fit_need(lists), CLAUSE_NEED),
            },
        )
