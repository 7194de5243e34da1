"""Corrections: finds where a person corrects what was just said: "sorry, I meant Tuesday", "no, it's Anna, not Anne".

It reads the right words and, where they are named, the wrong ones; which memory is corrected decides `correct_found.py`. The
forms stand in `languages/corrections.toml`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from germane.text.own.own_words import own_words
from germane.text.sentences import sentences

__all__ = ["Correction", "find_corrections"]

_MAX_READ, _MAX_SENTENCE = 2_000, 160
"""Characters of a message that are read, and of a sentence that may be a correction."""
_MAX_FOUND, _MAX_WORDS = 3, 5
_NO_VALUE = frozenset(
    ("i", "i'm", "we", "my", "ich", "wir", "mein", "je", "nous", "j'ai", "mon", "yo", "mi", "io", "eu", "ik", "that", "what")
)
"""Words with which a statement of its own begins: "I like tea, not coffee"."""
_ASKS, _BLANK = ("?", "？"), " \t\n\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """The right words, and the wrong ones, empty where they aren't named. `start` is where it stands in the message: what was
    said before in the message may be corrected too."""

    new: str
    old: str
    start: int


def find_corrections(text: str) -> tuple[Correction, ...]:
    """Returns the corrections in the message `text`, in order, at most 3. Pure and linear."""
    text = text[:_MAX_READ].replace("’", "'")
    words = own_words(text)
    found: list[Correction] = []
    for start, end in sentences(words):
        said = words[start:end].strip(_BLANK)
        if not said or len(said) > _MAX_SENTENCE or said.endswith(_ASKS):
            continue
        match = next((match for form in _forms() if (match := form.fullmatch(said)) is not None), None)
        if match is not None:
            groups = match.groupdict()
            new, old = (groups[name].strip() if groups.get(name) else "" for name in ("new", "old"))
            if len(new.split()) <= _MAX_WORDS and new.split()[0].lower() not in _NO_VALUE:
                found.append(Correction(new=new, old=old, start=start))
    return tuple(found[:_MAX_FOUND])


@cache
def _forms() -> tuple[re.Pattern[str], ...]:
    table = tomllib.loads(files("germane.memories.extraction").joinpath("languages/corrections.toml").read_text("utf-8"))
    parts = table["parts"]
    lines = (line for forms in table["words"].values() for line in forms.strip().splitlines())
    filled = (line.replace("{new}", parts["new"]).replace("{old}", parts["old"]) for line in lines)
    return tuple(re.compile(f"(?:{form}){parts['end']}", re.IGNORECASE) for form in filled)
