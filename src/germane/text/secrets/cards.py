"""Cards: numbers of payment cards, by their length, their first digits and their check digit (Luhn, ISO/IEC 7812).

One order number of sixteen digits in ten has a right check digit too, so a number written in one run counts only where a word
before it says what it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.text.secrets.found import FoundSecret

__all__ = ["by_luhn"]

_NUMBER = re.compile(r"(?<![\d-])(?<!\d[.,])[2-6]\d{3}(?:([ -])(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{5})|\d{11,12})(?![\d-]|[.,]\d)")
_SAYS = re.compile(
    r"card|karte|carte|tarjeta|cart[aã]o|visa|amex|american express|maestro|(?<![a-z])cc(?![a-z])|карт|卡", re.IGNORECASE
)
_BEFORE = 60
"""Characters before a number in which a word says that it is a card's."""
_ISSUED = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|2720\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
)


def by_luhn(text: str) -> Iterator[FoundSecret]:
    """Yields the numbers of payment cards. Takes linear time."""
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if not _ISSUED.fullmatch(digits) or not _checked(digits):
            continue
        if match[1] or _SAYS.search(text, max(0, match.start() - _BEFORE), match.start()):
            yield FoundSecret("card number", match.start(), match.end())


def _checked(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
