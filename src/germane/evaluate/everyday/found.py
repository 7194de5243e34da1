"""Found: whether what a request needs is shown: each message of its evidence, or lines made of it, with the answer's words.

Of a message, those words count that the answer shares with it. A line that was made of the message need not repeat the rest.
"""

from __future__ import annotations

import re

__all__ = ["answer_units", "flat", "is_held", "stands_in"]

_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff"
_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(rf"[^\W_{_UNSPACED}]+")
_LEAST = 3
"""Characters of the shortest word that counts."""
_SMALL = """
    all and any are but for from had has have her his into its not one she that the their they this was were with you your
"""
_COMMON = frozenset(_SMALL.split())
_ENOUGH = 0.75
"""The share of a message's units that must be shown."""
_BEGINNING = 80
"""Characters by which a message is recognised in a prompt: long ones are shortened there."""


def answer_units(text: str) -> frozenset[str]:
    """Returns numbers and words of three letters and more, in lower case, without the commonest English ones; of Chinese and
    Japanese every two characters that follow each other."""
    text = text.lower()
    pairs = {run[at : at + 2] for run in _RUN.findall(text) for at in range(len(run) - 1)}
    return frozenset(pairs | {word for word in _WORD.findall(text) if _counts(word)})


def is_held(message: str, answer: str, shown: str) -> bool:
    """Whether `shown` has three quarters of the units that `answer` and `message` share; true where they share none."""
    wanted = answer_units(answer) & answer_units(message)
    return len(wanted & answer_units(shown)) >= _ENOUGH * len(wanted)


def flat(text: str) -> str:
    """`text` with single spaces between its words."""
    return " ".join(text.split())


def stands_in(message: str, prompt: str) -> bool:
    """Whether the message itself stands in the flat text of the prompt, by its first 80 characters."""
    return flat(message)[:_BEGINNING] in prompt


def _counts(word: str) -> bool:
    return (len(word) >= _LEAST or word.isdigit()) and word not in _COMMON
