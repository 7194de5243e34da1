"""Name forms: the short and long forms of the names of people and organisations, and the names that things have beside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from germane.extraction.entities.tokens import folded, nicknames, without_ending

_MAX_FORMS, _MAX_WORDS, _MAX_READ = 12, 8, 512
"""Other forms of one first name, words of a name, and characters of one that are read."""
_MIN_SHORT, _MIN_INITIALS = 3, 3
_STATUS = re.compile(r"(?:http|status|\b)(?:[/ ][a-z0-9. ]{0,20})?\b([1-5]\d\d)\b")
_SMALL = frozenset(
    [
        "of",
        "the",
        "for",
        "and",
        "&",
        "de",
        "la",
        "le",
        "du",
        "des",
        "der",
        "die",
        "das",
        "von",
        "und",
        "et",
        "y",
        "e",
        "del",
        "della",
        "di",
        "da",
        "do",
        "dos",
        "das",
    ]
)
_TOOLS: Mapping[str, str] = MappingProxyType(
    {
        "postgres": "postgresql", "k8s": "kubernetes", "js": "javascript", "ts": "typescript", "node": "node.js",
        "nodejs": "node.js", "golang": "go", "python3": "python", "vs code": "vscode", "visual studio code": "vscode",
        "mongo": "mongodb", "elastic": "elasticsearch", "docker-compose": "docker compose", "vue": "vue.js", "next": "next.js",
        "sqlite3": "sqlite", "tf": "terraform", "sklearn": "scikit-learn", "torch": "pytorch", "psql": "postgresql",
    }
)  # fmt: skip
_PLACES: Mapping[str, str] = MappingProxyType(
    {
        "nyc": "new york", "new york city": "new york", "usa": "united states", "u.s": "united states", "us": "united states",
        "u.s.a": "united states", "america": "united states", "uk": "united kingdom", "u.k": "united kingdom",
        "great britain": "united kingdom", "uae": "united arab emirates", "holland": "netherlands", "czech republic": "czechia",
        "munchen": "munich", "koln": "cologne", "wien": "vienna", "roma": "rome", "milano": "milan", "lisboa": "lisbon",
        "napoli": "naples", "torino": "turin", "venezia": "venice", "firenze": "florence", "warszawa": "warsaw",
        "deutschland": "germany", "osterreich": "austria", "schweiz": "switzerland", "espana": "spain", "italia": "italy",
    }
)  # fmt: skip


def without_titles(key: str) -> str:
    """Returns a folded name without the titles before it: `dr. weber` → weber; the name itself where it is only a title."""
    words, titles = key[:_MAX_READ].split(), folded("people", "titles", "before")
    while len(words) > 1 and words[0].rstrip(".") in titles:
        del words[0]
    return " ".join(words).strip(".,;:!?")


def without_legal_form(key: str) -> str:
    """Returns a folded name without its legal form: `siemens ag` → siemens; the name itself where nothing else is in it."""
    words, forms = (
        key[:_MAX_READ].removeprefix("the ").replace(",", " ").split(),
        folded("organisations", "organisations", "legal"),
    )
    while len(words) > 1 and words[-1].strip(".") in forms:
        del words[-1]
    while len(words) > 1 and words[-1] in _SMALL:
        del words[-1]
    return " ".join(words).strip(".,;:!?")


def http_status(key: str) -> str:
    """Returns a folded error as `http 404` or `exit 137` where it is a status; else itself."""
    digits = "".join(char for char in key if char.isdigit())
    if key.startswith("exit") and digits:
        return f"exit {digits}"
    match = _STATUS.match(key)
    return f"http {match[1]}" if match else key


def tool_alias(key: str) -> str:
    """Returns the commonest name of a tool: `postgres` → postgresql."""
    return _TOOLS.get(key, key)


def place_alias(key: str) -> str:
    """Returns the English name of a place of which few names are in use: `nyc` → new york."""
    key = key.removeprefix("the ").strip(".,;:!?")
    return _PLACES.get(key, key)


def first_forms(first: str) -> tuple[str, ...]:
    """Returns the other forms of a folded first name, at most 12: `bob` → robert."""
    forms = nicknames().get(first) or nicknames().get(_stem(first)) or frozenset()
    return tuple(sorted(forms))[:_MAX_FORMS]


def _stem(word: str) -> str:
    return word if word.isascii() else without_ending(word)


def initials(words: Sequence[str]) -> str:
    """Returns the initials of a name's words without the small ones: International Business Machines → ibm; '' where they are
    fewer than three."""
    letters = "".join(word[0] for word in words[:12] if word not in _SMALL)
    return letters if len(letters) >= _MIN_INITIALS else ""


def prefixes(words: Sequence[str]) -> tuple[str, ...]:
    """Returns the first word, the first two … of a name, without the name itself, and none that says nothing alone."""
    made = (list(words[:size]) for size in range(1, min(len(words), _MAX_WORDS)))
    return tuple(" ".join(some) for some in made if not is_generic(some))


def is_generic(words: Sequence[str]) -> bool:
    """Returns whether these words alone may mean many organisations: `bank of`, `deutsche`, `new york`, `anna`."""
    if not words or words[-1] in _SMALL or " ".join(words) in folded("places", "places"):
        return True
    if len(words) == 1 and words[0] in folded("people", "first_names"):
        return True
    return all(word in folded("organisations", "organisations", "generic", "first", "last") or word in _SMALL for word in words)


def fits_organisation(key: str, other: str) -> bool:
    """Returns whether two folded names may be of one organisation: one is the beginning of the other, or its initials."""
    short, long = sorted((key[:_MAX_READ].split(), other[:_MAX_READ].split()), key=len)
    if not short or len(short) == len(long):
        return False
    if short == long[: len(short)]:
        return not is_generic(short)
    return len(short) == 1 and short[0] == initials(long)


def fits_person(key: str, others: Iterable[str]) -> bool:
    """Returns whether a folded name may be of the person who has the `others`: it says the same first and last name, as far as
    both say them, as each of them, and shares a name with one that tells."""
    words = key[:_MAX_READ].split()
    sure = False
    for other in others:
        fit = _compared(words, other[:_MAX_READ].split())
        if fit is False:
            return False
        sure = sure or fit is True
    return sure


def _compared(one: Sequence[str], other: Sequence[str]) -> bool | None:
    """True where two names share a name, False where they contradict each other, None where neither."""
    if not one or not other:
        return False
    if len(one) > 1 and len(other) > 1:
        return (one[-1] == other[-1] and _same_first(one[0], other[0])) or (set(one) < set(other) or set(other) < set(one))
    if len(one) == 1 and len(other) == 1:
        return True if _same_first(one[0], other[0]) else None
    single, full = (one[0], other) if len(one) == 1 else (other[0], one)
    return single == full[-1] or single == full[1] or _same_first(single, full[0]) or (None if len(one) == 1 else False)


def _same_first(one: str, other: str) -> bool:
    """Whether two first names are the same, or one is the other's short form."""
    if one == other or (_stem(one) == _stem(other) and not one.isascii()):
        return True
    if (
        other in first_forms(one)
        or one in first_forms(other)
        or _stem(other) in first_forms(one)
        or _stem(one) in first_forms(other)
    ):
        return True
    short, long = sorted((one, other), key=len)
    if not _MIN_SHORT <= len(short) <= 5 or len(long) < len(short) + 2 or not long.startswith(short):
        return False
    return short not in folded("people", "first_names")
