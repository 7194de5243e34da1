"""Beginning: the part of a block that fits, with a last line that says how much of it is shown.

A block is read from its beginning, and a log begins with its newest entry. So its beginning is shown, and not the part that the
request asks about. The last line begins as a viewport's does, which no content of a block can imitate (`blocks/render.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from germane.pipeline.format.shorten import Excerpt

__all__ = ["beginning"]

_MIN_CHARACTERS = 40
"""A shorter beginning says too little."""
_MAX_GUESSES = 12
_SLACK = 0.03
"""The share of the room that may be left unused: a nearer guess costs more time than it shows text."""


def beginning(text: str, limit: int, cost: Callable[[str], int]) -> Excerpt | None:
    """The longest beginning of `text` that costs at most `limit` tokens with its mark, nearly; None where fewer than 40
    characters fit. `cost` returns the tokens of a text as written. It ends with a line, else with a word."""
    fitting, high, best = 0, len(text), None
    guess = min(high - 1, 4 * limit)
    for _ in range(_MAX_GUESSES):
        if guess <= fitting or guess < _MIN_CHARACTERS:
            break
        shown = _marked(text, guess)
        tokens = cost(shown.text)
        if tokens <= limit:
            fitting, best = guess, shown
            if high - fitting <= 1 or tokens >= limit * (1 - _SLACK):
                break
        else:
            high = guess
        likely = int(guess * limit / max(1, tokens) * (1 - _SLACK / 2))
        guess = likely if fitting < likely < high else (fitting + high) // 2
    return best


def _marked(text: str, length: int) -> Excerpt:
    cut = text[:length]
    if length < len(text) and not text[length].isspace():
        line, word = cut.rfind("\n"), cut.rfind(" ")
        end = line if line > 0.8 * length else max(line, word)
        cut = cut[:end] if end > length // 2 else cut
    cut = cut.rstrip()
    lines, whole = cut.count("\n") + 1, text.count("\n") + 1
    mark = f"[Showing lines 1-{lines} of {whole}: {len(cut):,} of {len(text):,} characters]"
    return Excerpt(f"{cut}\n{mark}", len(cut) / len(text))
