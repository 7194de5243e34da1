"""Mixed texts: characters of all kinds in any order, the same in each run, and texts that nearly repeat others."""

from __future__ import annotations

from random import Random

from bench.linear import CHARACTERS

__all__ = ["mixed_texts", "nearly"]

_WORDS = "not never Monday prefers 12,000 than mag"


def mixed_texts(count: int) -> list[str]:
    """Half of them have spaces between."""
    random, some = Random(1), [*CHARACTERS.values(), *_WORDS.split()]
    return [("", " ")[at % 2].join(random.choices(some, k=random.choice((1, 2, 3, 9, 40)))) for at in range(count)]


def nearly(text: str, at: int) -> str:
    """The text once more, with a little before it, behind it, or left out of it."""
    return (text, f"{text}!", f"ـ {text}", text[1:], f"{text} 5")[at % 5]
