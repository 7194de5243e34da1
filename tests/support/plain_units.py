"""Plain units: random units of plain words, and their expected search scores, computed slowly from the formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Any

import numpy as np
from hypothesis import strategies as st

from germane.search.find import Match, find
from germane.search.partition import BLOCK, Partition
from germane.search.quantised import encode
from germane.search.unit import Unit
from germane.text.terms import term_hash
from germane.types.query import Filters, Query, Term, Vector
from germane_testing.builders import MOMENT

__all__ = ["DIMENSION", "Text", "asking", "asking_terms", "bm25", "held", "search", "texts", "unit", "windows"]

DIMENSION = 4
WORDS = ("ash", "birch", "cedar", "elm", "fir")
K1, B = 1.2, 0.75


@dataclass(frozen=True)
class Text:
    """The words, session, time and vector that a unit is made of."""

    key: int
    session: int = 1
    at: float = 0.0
    words: tuple[str, ...] = ()
    vector: tuple[float, ...] = ()


def unit(text: Text, **fields: Any) -> Unit:
    vector = encode(np.array([text.vector]))[0] if text.vector else None
    made = Unit(
        key=text.key,
        session=text.session,
        created_at=text.at,
        terms=b"".join(term_hash(word).to_bytes(4, "little") for word in text.words),
        vector=vector,
        flags=0,
        speaker=0,
        sensitivity=0,
        kind=0,
        valid_from=-inf,
        valid_to=inf,
        words=len(text.words),
    )
    return made._replace(**fields)


@st.composite
def texts(draw: st.DrawFn, max_texts: int = 30) -> list[Text]:
    """Random texts with distinct keys in any order, several sessions, and times that are often equal and seldom in order."""
    keys = draw(st.lists(st.integers(1, 200), unique=True, min_size=1, max_size=max_texts))
    number = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0])
    vectors = st.one_of(st.just(()), st.tuples(*[number] * DIMENSION))
    return [
        Text(
            key=key,
            session=draw(st.integers(1, 3)),
            at=float(draw(st.integers(0, 12))),
            words=tuple(draw(st.lists(st.sampled_from(WORDS), max_size=6))),
            vector=draw(vectors),
        )
        for key in keys
    ]


def held(chunks: Sequence[Sequence[Text]]) -> Partition:
    """A partition that received its units in these chunks."""
    partition = Partition(DIMENSION)
    for chunk in chunks:
        partition.extend([unit(text) for text in chunk])
    return partition


def asking_terms(*words: str) -> tuple[Term, ...]:
    return tuple(Term(word, (word,)) for word in words)


def asking(*words: str, vector: Vector | None = None, text: str = "", filters: Filters | None = None) -> Query:
    return Query(text=text, at=MOMENT, terms=asking_terms(*words), vector=vector, filters=filters or Filters())


def search(partitions: Sequence[Partition], query: Query, limit: int = 100, *, at: float = 0.0) -> list[Match]:
    return find(partitions, query, limit, keywords=True, vector=query.vector, speakers={}, at=at, stop=lambda: False).found


def windows(corpus: Sequence[Text]) -> dict[int, list[Text]]:
    """The text of each key with its neighbours in the session, sorted by time and key: own, previous, next."""
    around: dict[int, list[Text]] = {}
    for session in {text.session for text in corpus}:
        line = sorted((text for text in corpus if text.session == session), key=lambda text: (text.at, text.key))
        for index, text in enumerate(line):
            around[text.key] = [text, *line[max(0, index - 1) : index], *line[index + 1 : index + 2]]
    return around


def bm25(corpus: Sequence[Text], asked: Sequence[str]) -> dict[int, tuple[float, float, float]]:
    """The BM25 score of each key's own text, window and block, straight from the formula in `search/bm25.py`."""
    own = {text.key: list(text.words) for text in corpus}
    window = {key: [word for text in near for word in text.words] for key, near in windows(corpus).items()}
    blocks: dict[tuple[int, int], list[str]] = {}
    home: dict[int, tuple[int, int]] = {}
    for session in {text.session for text in corpus}:
        line = sorted((text for text in corpus if text.session == session), key=lambda text: (text.at, text.key))
        for index, text in enumerate(line):
            home[text.key] = (session, index // BLOCK)
            blocks.setdefault(home[text.key], []).extend(text.words)
    idf = {}
    for word in asked:
        df = sum(word in words for words in own.values())
        idf[word] = log(1 + (len(corpus) - df + 0.5) / (df + 0.5))
    own_mean, window_mean = _mean(own.values()), _mean(window.values())
    block_mean = _mean([words for words in blocks.values() if words])
    return {
        key: (
            _score(own[key], own_mean, idf),
            _score(window[key], window_mean, idf),
            _score(blocks[home[key]], block_mean, idf),
        )
        for key in own
    }


def _mean(documents: Iterable[Sequence[str]]) -> float:
    lengths = [len(words) for words in documents]
    return sum(lengths) / len(lengths) if lengths else 1.0


def _score(words: Sequence[str], mean: float, idf: dict[str, float]) -> float:
    counts, total = Counter(words), 0.0
    for word, weight in idf.items():
        if counts[word]:
            norm = K1 * (1 - B + B * len(words) / mean)
            total += weight * counts[word] * (K1 + 1) / (counts[word] + norm)
    return total / sum(idf.values())
