"""Corpus: generated conversations of any size, from a seed.

Words have the frequencies of a natural language, sessions have a few dozen turns, and queries range from rare words to the
commonest words only. The corpus holds no evaluation data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random

from germane import Message

__all__ = ["QUERY_MIX", "conversations", "endless", "queries"]

_BEGIN = datetime(2024, 1, 1, tzinfo=UTC)
_ONSETS = tuple("b c d f g h j k l m n p r s t v w br cl dr fl gr pl st tr sh ch".split())  # noqa: SIM905
_NUCLEI = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ["", "n", "r", "s", "t", "l", "m", "nd", "st", "ck"]
_FILLERS = tuple("the a I you we it was is to of and in on for with that this have had my your about".split())  # noqa: SIM905

QUERY_MIX = {"rare words": 0.4, "middling": 0.3, "commonest words": 0.2, "long": 0.1}


def _words(count: int, random: Random) -> list[str]:
    """`count` distinct pronounceable words, none of them a stop word."""
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = random.choice((1, 2, 2, 2, 3))
        word = "".join(random.choice(_ONSETS) + random.choice(_NUCLEI) for _ in range(syllables)) + random.choice(_CODAS)
        if len(word) > 3:
            found[word] = None
    return list(found)


class _Language:
    """Words by the Zipf-Mandelbrot law: the word of rank r has a frequency proportional to 1 / (r + 2.7)."""

    def __init__(self, seed: int, vocabulary: int = 30_000) -> None:
        self.random = Random(seed)
        self.words = _words(vocabulary, Random(7))
        total, self._cumulative = 0.0, []
        for rank in range(vocabulary):
            total += 1 / (rank + 2.7)
            self._cumulative.append(total)

    def sentence(self, length: int) -> str:
        content = self.random.choices(self.words, cum_weights=self._cumulative, k=length)
        mixed = [self.random.choice(_FILLERS) if self.random.random() < 0.45 else word for word in content]
        return " ".join(mixed).capitalize() + self.random.choice(".....?!")


def conversations(
    messages: int, seed: int = 1, names: Sequence[str] = ("Ana", "Ben"), length: int = 30
) -> Iterator[tuple[str, list[Message]]]:
    """Session by session: its id and its `length` messages, 5 to 60 words each, about 150 characters in the mean."""
    language = _Language(seed)
    for number, first in enumerate(range(0, messages, length)):
        when = _BEGIN + timedelta(hours=5 * number)
        said = [
            Message.of(
                "user",
                language.sentence(min(60, max(5, int(language.random.lognormvariate(3.2, 0.5))))),
                id=f"m{first + turn}",
                name=names[turn % len(names)],
                created_at=when + timedelta(seconds=40 * turn),
            )
            for turn in range(min(length, messages - first))
        ]
        yield f"s{number}", said


def queries(count: int, seed: int = 2) -> list[tuple[str, str]]:
    """Pairs (kind, text) in the shares of `QUERY_MIX`; all different."""
    language = _Language(seed)
    random, words = language.random, language.words
    found = []
    for number in range(count):
        kind = random.choices(list(QUERY_MIX), list(QUERY_MIX.values()))[0]
        match kind:
            case "rare words":
                chosen = random.sample(words[3000:], 3)
            case "middling":
                chosen = random.sample(words[100:3000], 4)
            case "commonest words":
                chosen = random.sample(words[:12], 6)
            case _:
                chosen = random.choices(words, k=60)
        found.append((kind, f"What did you say about {' '.join(chosen)} in {number}?"))
    return found


def endless(made: int, seed: int) -> Iterator[str]:
    """An endless stream of different queries. `made` are generated first: generating takes longer than answering."""
    texts = [text for _, text in queries(made, seed)]
    return (f"{text} And {number}?" if number else text for number in count() for text in texts)
