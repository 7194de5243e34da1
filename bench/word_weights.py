"""Word weights: counts what the words of labelled clauses say about them, for `profile/telling_words.tsv`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from germane.kinds.profile.telling import MODELS, WEIGHT_SCALE, WordWeights, word_tokens
from germane.text.clauses import Span

__all__ = ["LabelledMessage", "count_words", "write_words"]

_MIN_PEOPLE = 6
"""People in whose messages a token must stand."""
_SHRINKAGE = 6.0
"""A token in so many clauses has half the weight that its counts alone would give."""
_MIN_WEIGHT = 0.3
"""A token of which every weight is nearer to 0 is left out."""
_HEAD = """# What words of a clause say: tokens, with {scale} times the log-odds ratio for {models}.
# `_` joins two words, `^` and `$` are the clause's ends, `*` stands behind a beginning.
# Written by `python -m bench worth`; docs/research/everyday.md says on what they were counted.
"""


@dataclass(frozen=True, slots=True)
class LabelledMessage:
    """A message's clauses with their labels, 0 or 1, by model; a model that isn't among them learns nothing of the message.
    `person` wrote it."""

    person: str
    text: str
    spans: Sequence[Span]
    labels: Mapping[str, NDArray[np.float64]]


def count_words(messages: Sequence[LabelledMessage]) -> WordWeights:
    """Returns the weights of all tokens that enough people use."""
    people = defaultdict[str, set[str]](set)
    counts = defaultdict[str, NDArray[np.float64]](lambda: np.zeros((2, len(MODELS))))
    every = np.zeros((2, len(MODELS)))
    for message in messages:
        labels = [message.labels.get(model) for model in MODELS]
        for place, span in enumerate(message.spans):
            row = np.array([[float(one is not None), 0.0 if one is None else one[place]] for one in labels]).T
            every += row
            for token in word_tokens(message.text[slice(*span)]):
                counts[token] += row
                people[token].add(message.person)
    known = {token: _weights(row, every) for token, row in counts.items() if len(people[token]) >= _MIN_PEOPLE}
    return {token: weights for token, weights in sorted(known.items()) if max(map(abs, weights)) >= _MIN_WEIGHT}


def _weights(row: NDArray[np.float64], every: NDArray[np.float64]) -> tuple[float, ...]:
    """`row` and `every` are the clauses and those that are labelled 1, of the token and of all, by model."""
    return tuple(
        size / (size + _SHRINKAGE) * (log((yes + 0.5) / (all_yes + 1)) - log((size - yes + 0.5) / (all_size - all_yes + 1)))
        for size, yes, all_size, all_yes in zip(*row.tolist(), *every.tolist(), strict=True)
    )


def write_words(path: Path, weights: WordWeights) -> None:
    lines = ("\t".join((token, *(str(round(WEIGHT_SCALE * weight)) for weight in row))) for token, row in weights.items())
    path.write_text(_HEAD.format(scale=WEIGHT_SCALE, models=", ".join(MODELS)) + "\n".join(lines) + "\n", "utf-8")
