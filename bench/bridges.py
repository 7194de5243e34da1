"""Bridges: whether entities that messages share tell which messages answer a question, held out by conversation.

    python -m bench bridges ../shared/data/locomo-dev

An entity is rare if few messages name it; hubs count little (idf). From the question's entities two bounded steps are walked:
to the messages that name one, to the other rare entities in them, and to the messages that name those. Four features come
from this: the share of the question's entities that a message names, the strongest entity it has in common with a message
that names one, and how probable the other messages are that share an entity with it (the sum, and the strongest). Their
weights are fitted on top of the model's own held-out log-odds, by the listwise loss of the model, for each conversation on
the others. The table shows percent of the evidence within 500, 1,000 and 2,000 tokens by category: the model alone, and the
change with each set of features.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from germane.extraction.entities.entities import extract_entities
from germane.kinds.graph.aliases import name_key
from germane_eval.dataset import Dataset
from germane_eval.fit.candidates import Candidates, folds, pack_candidates
from germane_eval.fit.collect import collect_candidates
from germane_eval.fit.fitting import Options, refit, shipped_tables
from germane_eval.formats import load

__all__ = ["main"]

Floats = NDArray[np.float64]
_BUDGETS = (500, 1000, 2000)
_RARE = 0.05
"""Entities in a larger share of a conversation's messages are hubs."""
_SETS: Mapping[str, tuple[int, ...]] = {
    "in the question": (0,),
    "one step": (0, 1),
    "by probability": (2, 3),
    "all four": (0, 1, 2, 3),
}
_L2, _STEPS = 10.0, 25


class _Shared:
    """The rare entities of one conversation: of each message, and the messages of each."""

    def __init__(self, texts: Mapping[str, tuple[str, str]]) -> None:
        """`texts` has the text and the speaker of each message, by its id."""
        named = {id: _entities(text, speaker) for id, (text, speaker) in texts.items()}
        counts = Counter(entity for entities in named.values() for entity in entities)
        most = max(3, int(_RARE * len(texts)))
        self.idf = {entity: log(len(texts) / count) / 8 for entity, count in counts.items() if 2 <= count <= most}
        self.of = {id: [entity for entity in entities if entity in self.idf] for id, entities in named.items()}
        self.messages: dict[str, list[str]] = defaultdict(list)
        for id, entities in self.of.items():
            for entity in entities:
                self.messages[entity].append(id)

    def features(self, question: str, ids: Sequence[str], odds: Floats) -> Floats:
        """Returns shape (len(ids), 4)."""
        asked = {entity for entity in _entities(question, "") if entity in self.idf}
        likely: dict[str, float] = defaultdict(float)
        for id, probability in zip(ids, 1 / (1 + np.exp(-odds)), strict=True):
            likely[id] = max(likely[id], float(probability))
        reached, mass = dict[str, float](), defaultdict[str, float](float)
        for entity in asked:
            for id in self.messages[entity]:
                for other in self.of[id]:
                    reached[other] = max(reached.get(other, 0.0), self.idf[entity])
        for id, probability in likely.items():
            for entity in self.of.get(id, ()):
                mass[entity] += probability
        whole = sum(self.idf[entity] for entity in asked)
        return np.array([self._row(id, asked, whole, reached, mass, likely[id]) for id in ids]).reshape(len(ids), 4)

    def _row(
        self, id: str, asked: set[str], whole: float, reached: Mapping[str, float], mass: Mapping[str, float], own: float
    ) -> tuple[float, float, float, float]:
        entities = self.of.get(id, [])
        steps = [reached[entity] * self.idf[entity] for entity in entities if entity in reached and entity not in asked]
        others = [max(0.0, mass[entity] - own) * self.idf[entity] for entity in entities if entity not in asked]
        matched = sum(self.idf[entity] for entity in entities if entity in asked)
        likely = log(1 + sum(others) / 1e-3) / 8
        return matched / whole if whole else 0.0, max(steps, default=0.0), likely, max(others, default=0.0)


def _entities(text: str, speaker: str) -> set[str]:
    found = extract_entities(text, speaker=speaker)
    return {name_key(entity.name, entity.type) for entity in found if entity.start < entity.end}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench bridges", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    options = parser.parse_args(arguments)
    dataset = load(options.data)
    ids = list[Sequence[str]]()
    lists = asyncio.run(collect_candidates(dataset, note=lambda _, found: ids.append(found)))
    odds = refit(lists, shipped_tables("distilled"), Options()).after
    features = _features(dataset, lists, ids, odds)
    groups = ["all", *sorted({one.category for one in lists})]
    before = {group: _recall(lists, odds, group) for group in groups}
    print(f"| {options.data.name} | {' | '.join(groups)} |", f"|{' --- |' * (len(groups) + 1)}", sep="\n")
    print(f"| the model | {' | '.join(_written(before[group]) for group in groups)} |")
    for label, columns in _SETS.items():
        after = _refitted(lists, odds, [found[:, list(columns)] for found in features])
        changes = (_recall(lists, after, group) - before[group] for group in groups)
        print(f"| {label} | {' | '.join(_written(change, signed=True) for change in changes)} |")


def _features(
    dataset: Dataset, lists: Sequence[Candidates], ids: Sequence[Sequence[str]], odds: Sequence[Floats]
) -> list[Floats]:
    texts, questions = dict[str, dict[str, tuple[str, str]]](), dict[tuple[str, str], str]()
    for talk in dataset.conversations:
        said = [message for messages in talk.sessions.values() for message in messages]
        texts[talk.name] = {message.id or "": (message.content, message.name or "") for message in said}
        questions |= {(talk.name, question.id): question.text for question in talk.questions}
    shared = {name: _Shared(known) for name, known in texts.items()}
    return [
        shared[one.conversation].features(questions[one.conversation, one.question], own, found)
        for one, own, found in zip(lists, ids, odds, strict=True)
    ]


def _refitted(lists: Sequence[Candidates], odds: Sequence[Floats], features: Sequence[Floats]) -> list[Floats]:
    """The log-odds with the features, each conversation by weights that were fitted on the others."""
    after = list(odds)
    for learnt, held in folds(lists):
        weights = _fit(learnt.tolist(), lists, odds, features)
        for index in held.tolist():
            after[index] = odds[index] + features[index] @ weights
    return after


def _fit(learnt: Iterable[int], lists: Sequence[Candidates], odds: Sequence[Floats], features: Sequence[Floats]) -> Floats:
    """Newton's method on the listwise loss, with the model's log-odds as a fixed offset."""
    useful = [index for index in learnt if lists[index].relevant.any()]
    spread = np.concatenate([features[index] for index in useful]).std(axis=0) + 1e-9
    weights = np.zeros(len(spread))
    for _ in range(_STEPS):
        gradient, curvature = -_L2 * weights, _L2 * np.eye(len(weights))
        for index in useful:
            rows = features[index] / spread
            share = _softmax(odds[index] + rows @ weights)
            right = share * lists[index].relevant
            mean = share @ rows
            gradient = gradient + (right / (right.sum() + 1e-300)) @ rows - mean
            curvature = curvature + (rows.T * share) @ rows - np.outer(mean, mean)
        step = np.linalg.solve(curvature, gradient)
        weights = weights + step
        if np.abs(step).max() < 1e-4:
            break
    fitted: Floats = weights / spread
    return fitted


def _softmax(scores: Floats) -> Floats:
    shares = np.exp(scores - scores.max())
    normal: Floats = shares / shares.sum()
    return normal


def _recall(lists: Sequence[Candidates], odds: Sequence[Floats], group: str) -> Floats:
    chosen = [(one, found) for one, found in zip(lists, odds, strict=True) if group in ("all", one.category)]
    return np.array(
        [100 * np.mean([pack_candidates(one, found, budget).share for one, found in chosen]) for budget in _BUDGETS]
    )


def _written(figures: Floats, *, signed: bool = False) -> str:
    return " / ".join(f"{figure:+.1f}" if signed else f"{figure:.1f}" for figure in figures)
