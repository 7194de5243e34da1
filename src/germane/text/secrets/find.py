"""Find: the secrets in a text: provider tokens, private keys, passwords behind a name, card numbers.

Ordinary text costs a few microseconds: most texts hold no long word and no word such as "password", and are done with that. A
long text is looked through window by window, so that no single step holds the interpreter lock for long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from germane.text.secrets.cards import by_luhn
from germane.text.secrets.formats import by_format, private_keys
from germane.text.secrets.found import FoundSecret
from germane.text.secrets.named import by_name, may_name
from germane.text.secrets.unveiled import unveiled

__all__ = ["find_secrets"]

_WINDOW, _OVERLAP = 16_384, 512
_WORD = 4_096
"""Characters before the end of a window in which one of `_ENDS` is looked for, so that no secret is cut."""
_ENDS = " \n\"',"
_SHORTEST = 20
"""Characters of the shortest secret that is known by its form."""
_LEAST = 8
"""Characters of the shortest text that can hold a secret: `pin=1234`."""
_REPEATED, _MIN_REPEATED = 32, 6
"""How many secrets are looked for again in the text, and the characters that they have at least."""
_DIGIT = re.compile("[0-9]")
_CARD = re.compile("[2-6][0-9]{3}[ -]?[0-9]{4}")
"""What every card number holds."""


def find_secrets(text: str, breath: Callable[[], None] = lambda: None) -> tuple[FoundSecret, ...]:
    """Returns the secrets in `text`, in order; no two overlap. Deterministic, in linear time. `breath` is called between two
    windows of a long text. Markers of what was redacted before count as no secret."""
    if len(text) < _LEAST:
        return ()
    if len(text) <= _WINDOW and "-----" not in text and "Private-Lines" not in text:
        return _apart((*found, *_repeated(text, found))) if (found := _within(text)) else ()
    found = list[FoundSecret]()
    if "PRIVATE KEY" in text or "Private-Lines" in text:
        found += private_keys(text)
    for start, window in _windows(text):
        for one in _within(window):
            found.append(FoundSecret(one.kind, start + one.start, start + one.end))
        breath()
    return _apart((*found, *_repeated(text, found))) if found else ()


def _repeated(text: str, found: Sequence[FoundSecret]) -> Iterator[FoundSecret]:
    """The places where the first secrets stand again, where nothing else tells that they are secrets."""
    seen = {text[one.start : one.end]: one.kind for one in found[:_REPEATED] if one.end - one.start >= _MIN_REPEATED}
    for secret, kind in seen.items():
        at = text.find(secret)
        while at >= 0:
            end = at + len(secret)
            if not text[max(0, at - 1) : at].isalnum() and not text[end : end + 1].isalnum():
                yield FoundSecret(kind, at, end)
            at = text.find(secret, end)


def _windows(text: str) -> Iterator[tuple[int, str]]:
    """The text in windows that overlap, each with its start. A window ends where no secret goes on, if that is near."""
    start = 0
    while True:
        end = start + _WINDOW
        if end >= len(text):
            yield start, text[start:]
            return
        end = max(text.rfind(mark, end - _WORD, end) for mark in _ENDS) + 1 or end
        yield start, text[start:end]
        start = end - _OVERLAP


def _within(text: str) -> list[FoundSecret]:
    found = _in_plain(text)
    if ("</" in text or not text.isascii()) and (plain := unveiled(text)) is not None:
        places = ((one.kind, plain.place(one.start), plain.place(one.end - 1) + 1) for one in _in_plain(plain.text))
        found += [FoundSecret(*place) for place in places]
    return found


def _in_plain(text: str) -> list[FoundSecret]:
    found: list[FoundSecret] = []
    digit = _DIGIT.search(text) is not None
    if digit or "_" in text or "-" in text or "KIA" in text or "SIA" in text or "AIza" in text:  # else there is no form of one
        begin = 0
        for word in [word for word in text.split() if len(word) >= _SHORTEST]:
            begin = text.index(word, begin)
            found += by_format(text, begin, begin + len(word))
            begin += len(word)
    low = text.lower()
    if may_name(low):
        found += by_name(text, low if len(low) == len(text) else "".join(map(_lower, text)))
    if digit and _CARD.search(text):
        found += by_luhn(text)
    return found


def _lower(char: str) -> str:
    """A character in lower case, itself where that would be two characters."""
    low = char.lower()
    return low if len(low) == 1 else char


def _apart(found: Iterable[FoundSecret]) -> tuple[FoundSecret, ...]:
    """The findings in order; those that overlap are one, of the kind of the longest."""
    kept: list[FoundSecret] = []
    longest = 0
    for one in sorted(found, key=lambda each: (each.start, -each.end)):
        if kept and one.start < kept[-1].end:
            last = kept[-1]
            if one.end - one.start > longest:
                kept[-1], longest = last._replace(kind=one.kind), one.end - one.start
            kept[-1] = kept[-1]._replace(end=max(last.end, one.end))
        else:
            kept.append(one)
            longest = one.end - one.start
    return tuple(kept)
