"""Language: detects the language whose stemmer fits a word, by its script, or by function words in Latin script.

The result is a guess that serves stemming and nothing else: English wins ties and texts too short to tell.
"""

from __future__ import annotations

import re
from itertools import repeat

from germane.text.stopwords import STOP

__all__ = ["LATIN", "detect", "of_script"]

LATIN = (
    "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish", "danish", "norwegian",
    "finnish", "turkish", "polish", "romanian", "indonesian", "hungarian",
)  # fmt: skip
"""Languages that are told apart by their function words; earlier ones win ties."""

_SAMPLE = 200  # words counted: no more than a lane of eight bits can count


def _votes() -> dict[str, int]:
    """Returns for each word an integer of sixteen lanes of eight bits, one for each language: one `sum` counts all votes."""
    lanes: dict[str, int] = {}
    for lane, name in enumerate(LATIN):
        for word in STOP[name]:
            lanes[word] = lanes.get(word, 0) | 1 << 8 * lane
    for letters, names in (("ßäöü", ["german"]), ("ñ¿¡", ["spanish"]), ("ãõ", ["portuguese"]), ("çêèœ", ["french"])):
        for letter in letters:
            lanes[letter] = sum(1 << 8 * LATIN.index(name) for name in names)
    return lanes


_VOTES = _votes()
_TELLING_LETTERS = re.compile(r"[ßäöüñ¿¡ãõçêèœ]")
_SCRIPTS = (
    ("russian", re.compile(r"[\u0400-\u052f]")),
    ("greek", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")),
    ("persian", re.compile(r"\A[\u0600-\u06ff]*[پچژگکی]")),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("hindi", re.compile(r"[\u0900-\u097f]")),
    ("tamil", re.compile(r"[\u0b80-\u0bff]")),
    ("armenian", re.compile(r"[\u0530-\u058f]")),
)


def detect(text: str) -> str | None:
    """Returns the Latin-script language of a text, by Snowball's name; None for a text without known function words."""
    text = text[:2000].lower()
    votes = sum(map(_VOTES.get, text.split()[:_SAMPLE], repeat(0)))
    if not text.isascii():
        votes += sum(map(_VOTES.__getitem__, _TELLING_LETTERS.findall(text)[:50]))
    return _winner(votes) if votes else None


def of_script(word: str) -> str | None:
    """Returns the language whose stemmer fits the word's script; "" when there is none, None for Latin script."""
    if word.isascii():
        return None
    for name, pattern in _SCRIPTS:
        if pattern.match(word):
            return name
    return "" if word[0] >= "\u0590" else None


def _winner(votes: int) -> str:
    """Returns the language with most votes, the first of several."""
    counts = votes.to_bytes(len(LATIN), "little")
    return LATIN[counts.index(max(counts))]
