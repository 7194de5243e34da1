"""Worth: fits what a profile and the clauses of messages are chosen by, on invented people alone (PERSON-1, PERSON-2).

    python -m bench worth ../shared/data/everyday-dev --more ../shared/data/prefeval-dev ../shared/data/beam-100k-dev --write

Three kinds of models are fitted, one after the other, each on what the others before it say:

- `profile/worth.toml` with `telling_words.tsv`: how probable a clause is a standing instruction, says something lasting, or
  says what matters unasked. Fitted on the labelled clauses of `person.jsonl` and `people.json`: invented messages in sixteen
  languages, most of them those of invented people in the order of time, who mostly say nothing of the kind. That their
  requests are no standing instructions is learnt from these.
- `search/clause_relevance.toml`, table `clause`: how probable a clause holds what a request needs. Fitted on the requests of
  the people of `people.json`.
- the same, table `need`: P(need). Requests that need something stored, those that need nothing, and germane's turns without
  need, asked in the same stores, and asked again in stores of each person's first six and twenty messages.

The requests of the folders given with `--more` take part in P(need) alone, with six tenths of a person's weight. Of germane's
turns without need only the half `fit` is used.

It prints what is found of these people's requests, each by models that didn't see that person, and for each other folder of
everyday data what is found there by models that saw nothing of it. Without `--write` it leaves the files as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.clause_evidence import ClauseList, clause_lists
from bench.word_weights import LabelledMessage, count_words, write_words
from germane.kinds.profile.telling import FEATURES, MODELS, NEIGHBOURS, WordWeights, clause_features, with_neighbours
from germane.search.relevance import CLAUSE_FEATURES, CLAUSE_NEED, sigmoid
from germane.text.clauses import Span, clauses
from germane_eval.fit.loss import minimise
from germane_eval.formats import load

__all__ = ["main", "ridge"]

Floats = NDArray[np.float64]
_SAMPLE = Path(__file__).with_name("person.jsonl")
_PEOPLE = Path(__file__).with_name("people.json")
_SOURCE = Path(__file__).parent.parent / "src" / "germane"
_LABELLED = 0.4
"""The share of a clause's characters with a label from which on the clause has it."""
_LABELS = {"rule": ("rule",), "lasting": ("matters", "fact"), "matters": ("matters",)}
"""The labels of a clause in the sample for which each model's answer is yes."""
_OF_RULES, _TURN = "instruction", "turn"
_L2 = {"worth": 25.0, "clause": 20.0, "need": 40.0}
_LIMIT = 8.0
_FOLDS = 6
_FOR_NOTHING = {"none": 2.0, _TURN: 7.0}
"""How much the requests count that need nothing: in life they are most."""
_OF_ASSISTANTS, _OF_MORE, _OF_YOUNG = 2.0, 0.6, 0.5
_YOUNG_FOR_NOTHING = 2.25
"""How much more the requests of people count that need nothing, in stores of few messages: there all clauses are alike."""


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


def _of_sample() -> Iterator[LabelledMessage]:
    for number, line in enumerate(_SAMPLE.read_text("utf-8").splitlines()):
        entry = json.loads(line)
        yield from _labelled(entry.get("person", f"message {number}"), entry["parts"])
    for person in json.loads(_PEOPLE.read_text("utf-8")):
        for message in (message for session in person["sessions"] for message in session["messages"]):
            yield from _labelled(person["id"], message.get("parts", ()))
        for request in person["questions"]:
            yield from _labelled(person["id"], [(request["text"], "none")], models=("rule",))


def _labelled(person: str, parts: Iterable[tuple[str, str]], models: Sequence[str] = MODELS) -> Iterator[LabelledMessage]:
    """The message that these parts make, each of them a text and its label, for some models; none where it says nothing."""
    text, places, at = "", list[tuple[int, int, str]](), 0
    for part, label in parts:
        text += part
        places.append((at, at + len(part), label))
        at += len(part)
    if spans := clauses(text):
        labels = {model: [_share(span, places, _LABELS[model]) >= _LABELLED for span in spans] for model in models}
        arrays = {model: np.array(row, np.float64) for model, row in labels.items()}
        yield LabelledMessage(person, text, spans, arrays)


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
        labels = np.concatenate([one.labels[name] for one in messages if name in one.labels])
        rows = [table for table, one in zip(found, messages, strict=True) if name in one.labels]
        alone = ridge(np.vstack(rows), labels, _L2["worth"])
        seen = [with_neighbours(table, np.clip(table @ alone[:-1] + alone[-1], -_LIMIT, _LIMIT)) for table in rows]
        fitted[name] = {"alone": alone, "beside": ridge(np.vstack(seen), labels, _L2["worth"])}
    return _Worth(fitted, count_words(messages))


def _fit_clause(lists: Sequence[ClauseList]) -> Floats:
    """What an assistant said is asked for oftener than one request in twenty-six does, which these people's do."""
    used = [one for one in lists if one.category != _TURN and not one.young]
    weights = [np.full(len(one.relevant), _OF_ASSISTANTS if one.category == "assistant" else 1.0) for one in used]
    return ridge(
        np.vstack([one.rows for one in used]),
        np.concatenate([one.relevant for one in used]),
        _L2["clause"],
        np.concatenate(weights),
    )


def _fit_need(lists: Sequence[ClauseList], more: Sequence[ClauseList], clause: Floats) -> Floats:
    """Requests for a standing instruction, and for what was never said, say nothing of whether a search is worth it."""
    asked = [(row, one, _OF_YOUNG if one.young else 1.0) for one in lists if (row := one.need_row(clause)) is not None]
    asked += [(row, one, _OF_MORE) for one in more if (row := one.need_row(clause)) is not None]
    used = [(row, one, share) for row, one, share in asked if one.category not in (_OF_RULES, "unknown")]
    labels = np.array([float(one.needed) for _, one, _ in used])
    weights = np.array([share * _of_nothing(one) for _, one, share in used])
    return ridge(np.vstack([row for row, _, _ in used]), labels, _L2["need"], weights)


def _of_nothing(one: ClauseList) -> float:
    return _FOR_NOTHING.get(one.category, 1.0) * (_YOUNG_FOR_NOTHING if one.young and one.category == "none" else 1.0)


class _Judged(NamedTuple):
    """A request's clauses with their probabilities, and P(need), None where nothing was found."""

    one: ClauseList
    chances: Floats
    need: float | None


def _judged(fitted_on: Sequence[ClauseList], more: Sequence[ClauseList], asked: Iterable[ClauseList]) -> Iterator[_Judged]:
    clause = _fit_clause(fitted_on)
    need = _fit_need(fitted_on, more, clause)
    for one in asked:
        row = one.need_row(clause)
        needed = None if row is None else float(sigmoid(np.array([row @ need[:-1] + need[-1]]))[0])
        yield _Judged(one, sigmoid(one.rows @ clause[:-1] + clause[-1]), needed)


def _of_others(lists: Sequence[ClauseList], more: Sequence[ClauseList]) -> Iterator[_Judged]:
    """Each person judged by models of others."""
    people = np.random.default_rng(1).permutation(list(dict.fromkeys(one.person for one in lists))).tolist()
    for number in range(_FOLDS):
        held = set(people[number::_FOLDS])
        others = [one for one in lists if one.person not in held]
        yield from _judged(others, more, (one for one in lists if one.person in held))


def _report(judged: Sequence[_Judged]) -> None:
    """Prints, for some prices, what is found in how many tokens, and how often P(need) is met."""
    wanted = [each for each in judged if each.one.needed and each.one.category != _OF_RULES and not each.one.young]
    for price in (8e-4, 6e-4, 5e-4, 4e-4, 3e-4):
        shown = [(each.one, np.flatnonzero(each.chances / each.one.tokens >= price)) for each in wanted]
        found = np.mean([one.holds(places.tolist()) for one, places in shown])
        tokens = np.mean([one.tokens[places].sum() for one, places in shown])
        print(f"price {price:.4f}: {found:6.1%} found in {tokens:5.0f} tokens")
    for threshold in (0.1, 0.13, 0.2, 0.3):
        for young in sorted({each.one.young for each in judged}):
            asked = [each for each in judged if each.one.young is young]
            met = ", ".join(
                f"{name} {_met(asked, threshold, name):.0%}" for name in dict.fromkeys(each.one.category for each in asked)
            )
            print(f"P(need) ≥ {threshold}{' after few messages' if young else ''}: {met}", flush=True)


def _met(judged: Sequence[_Judged], threshold: float, category: str) -> float:
    known = [float((each.need or 0.0) >= threshold) for each in judged if each.one.category == category]
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
    parser.add_argument("data", type=Path, nargs="*", help="folders of everyday data to measure the models with")
    parser.add_argument("--more", type=Path, nargs="+", default=(), help="folders whose requests take part in P(need)")
    parser.add_argument("--write", action="store_true", help="write the fitted models into the package")
    options = parser.parse_args(arguments)
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
    lists = asyncio.run(clause_lists(load(_PEOPLE), young=True))
    more = [one for folder in options.more for one in asyncio.run(clause_lists(load(folder)))]
    _report(list(_of_others(lists, more)))
    if options.write:
        clause = _fit_clause(lists)
        _write(
            _SOURCE / "search" / "clause_relevance.toml",
            "Clause relevance and P(need) where clauses are shown: coefficients of `clause_relevance.py`.",
            {"clause": (clause, CLAUSE_FEATURES), "need": (_fit_need(lists, more, clause), CLAUSE_NEED)},
        )
    for folder in options.data:
        print(folder.name, flush=True)
        _report(list(_judged(lists, more, asyncio.run(clause_lists(load(folder), half="report")))))
