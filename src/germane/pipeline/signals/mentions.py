"""Mentions: capitalised words and runs that may name a person or thing. Candidates only: gathering resolves them."""

from __future__ import annotations

import re

from germane.text.normal import fold
from germane.text.stopwords import STOP

__all__ = ["mentions"]

_MOST = 16
_WORD = re.compile(r"[^\W_]++(?:['’\-.][^\W_]++)*+")
_POSSESSIVE = re.compile(r"['’](?:s|S)?$")
_CONTRACTION = re.compile(r"['’](?:m|re|ve|ll|d|t|clock)$", re.IGNORECASE)
_BREAK = re.compile(r"[^ \t]")
_SENTENCE_END = re.compile(r"[.!?。！？؟:\n\"“«(\[]")
_LINKS = frozenset({"of", "the", "de", "la", "le", "von", "van", "der", "den", "da", "di", "del", "al", "el", "bin", "ibn"})
_OPENING_WORDS = """
    tell please remind show give find list describe explain summarize summarise remember recall hey hi hello thanks thank
    yes yeah no ok okay sure also then well maybe let lets can could would should will do does did is are was were have has
    had help write create make add fix run update delete remove build explain compare check see look imagine suppose given
    based according think say said ask name last next first today yesterday tomorrow any anything everything something
    someone anyone oh wow great good nice sorry actually anyway besides however meanwhile still even both such another
"""
_CALENDAR_WORDS = """
    january february march april may june july august september october november december monday tuesday wednesday thursday
    friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun
    mondays tuesdays wednesdays thursdays fridays saturdays sundays christmas easter
"""
_NEVER = STOP["english"] | frozenset(_CALENDAR_WORDS.split())
_NEVER_FIRST = _NEVER | frozenset(_OPENING_WORDS.split()) | frozenset(word for words in STOP.values() for word in words)


def mentions(text: str) -> tuple[str, ...]:
    """Distinct names in their order, at most 16; a run of several words is followed by its words.

    Words that open a sentence count unless they usually do; possessives lose their ending (`Caroline's` → Caroline).
    A text all in capitals names nobody.
    """
    letters = [char for char in text[:400] if char.isalpha()]
    if len(letters) > 20 and sum(char.isupper() for char in letters) > 0.6 * len(letters):
        return ()
    found: dict[str, None] = {}
    for run in _runs(text):
        found.setdefault(" ".join(run))
        for word in run:
            if word not in _LINKS:
                found.setdefault(word)
        if len(found) >= _MOST:
            break
    return tuple(found)[:_MOST]


def _runs(text: str) -> list[list[str]]:
    """Runs of neighbouring capitalised words, with the small words inside them (`Lord of the Rings`)."""
    runs: list[list[str]] = []
    run: list[str] = []
    links: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        first = match.start() == 0 or _SENTENCE_END.search(between) is not None
        if run and (first or _BREAK.search(between)):
            run, links = _close(run, runs), []
        word, closed = _named(match[0], first)
        if word:
            run += [*links, word]
            links = []
            if closed:
                run = _close(run, runs)
        elif run and match[0] in _LINKS and len(links) < 2:
            links.append(match[0])
        else:
            run, links = _close(run, runs), []
    _close(run, runs)
    return runs


def _close(run: list[str], runs: list[list[str]]) -> list[str]:
    if run:
        runs.append(run)
    return []


def _named(word: str, first: bool) -> tuple[str, bool]:
    """The word as a name, empty when it can't be one, and whether a possessive ends the run here."""
    bare = _POSSESSIVE.sub("", word)
    if not bare[:1].isupper() or len(bare) < 2 or _CONTRACTION.search(word):
        return "", False
    if fold(bare) in (_NEVER_FIRST if first else _NEVER):
        return "", False
    return bare, bare != word
