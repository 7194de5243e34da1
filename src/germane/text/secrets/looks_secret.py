"""Looks secret: decides whether the value behind a name is a secret, or a word, a placeholder, a measure or code."""

from __future__ import annotations

import re
from collections import Counter
from math import log2
from typing import Literal

__all__ = ["NameKind", "is_placeholder", "is_random", "looks_secret"]

NameKind = Literal["password", "PIN", "secret", "token", "API key"]
"""What a name introduces."""

_PLACEHOLDER = re.compile(
    r"^(?:[\[({<]|\$[{(]|\$[A-Za-z_]+$|%(?:[sd]$|\(|\w+%)|https?:|~?\.{0,2}/[a-z._-]+(?:/|$))|\{\{|x{4}|\*{3}|•{3}|\.{3}|…"
    r"|example|your[-_ ]?|placeholder|redacted|dummy|change[-_ ]?me|process\.env|environ|getenv"
    r"|(?<![a-z])(?:os|self|config|settings|secrets)\.|vault:|\w[(\[]",
    re.IGNORECASE,
)
_WORDS = """none null true false undefined string str required optional password passwd pass pwd secret token user username
    text hidden unknown default empty value integer boolean"""
_NOTHING = frozenset(_WORDS.split())
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[:/.]\d\d")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}$")
_MEASURE = re.compile(
    r"\d[\d,.]*+(?:st|nd|rd|th|s|m|h|d|ms|px|kb|mb|gb|k|%|x|\+|-?(?:char|digit|day|hour|minute|min|step|factor|bit|word)\w{0,12})?$",
    re.IGNORECASE,
)
_STRONG = frozenset("!@#$%^&*+=?~|§€£")
_MIN_TOKEN, _MIN_PASSWORD = 12, 5
"""Characters."""
_MIN_ENTROPY = 2.8
"""Bits a character: words have some 2 to 3, random letters and digits of this length 3 and more."""
_MIN_CHANGES = 3
"""Changes of case that no words written together have."""
_READ = 256
"""Characters of a value that are looked at."""


def looks_secret(value: str, kind: NameKind, *, assigned: bool) -> bool:
    """Returns whether what follows a name is a secret. `assigned`: it follows a sign such as `=`, not a verb."""
    value = value[:_READ]
    if kind == "PIN":
        return value.isascii() and value.isdigit() and 4 <= len(value) <= 8
    if is_placeholder(value) or _EMAIL.match(value) or _DATE.match(value):
        return False
    if kind != "password":
        return len(value) >= _MIN_TOKEN and " " not in value and is_random(value)
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if digits and not letters and _STRONG.isdisjoint(value):
        return assigned and value.isdecimal() and 4 <= len(value) <= 64
    if len(value) < _MIN_PASSWORD or _MEASURE.match(value):
        return False
    if " " in value:
        return digits and letters and assigned
    strong = not _STRONG.isdisjoint(value.rstrip("!?"))
    return letters and (digits or strong or (len(value) >= _MIN_TOKEN and _changes(value) >= _MIN_CHANGES))


def is_placeholder(value: str) -> bool:
    """Returns whether the value stands for a secret that isn't there: `<password>`, `${TOKEN}`, `xxxx`, `os.environ[…]`."""
    value = value[:_READ]
    return value.lower() in _NOTHING or _PLACEHOLDER.search(value) is not None


def is_random(value: str) -> bool:
    """Returns whether the value looks like no word or identifier: it has digits or many changes of case, and varies."""
    value = value[:_READ]
    if not value.isascii() or not (any(map(str.isdigit, value)) or _changes(value) >= _MIN_CHANGES):
        return False
    counts, size = Counter(value), len(value)
    entropy = -sum(count / size * log2(count / size) for count in counts.values())
    return entropy >= _MIN_ENTROPY and len(counts) >= 7


def _changes(value: str) -> int:
    """How often two upper-case letters or a digit follow a lower-case letter: `getUserName` has none, `aBCdeFG` has two."""
    threes = zip(value, value[1:], value[2:], strict=False)
    return sum(one.islower() and two.isupper() and not three.islower() for one, two, three in threes)
