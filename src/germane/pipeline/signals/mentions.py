"""Mentions: finds capitalised words and runs of words that may name a person or a thing."""

from __future__ import annotations

import re

from germane.text.normal import fold
from germane.text.stopwords import STOP

__all__ = ["mentions"]

_MAX_NAMES = 16
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
    """Distinct names in the order of the text, at most 16; a name of several words is followed by its words.

    The first word of a sentence counts unless it is a usual opening word. Possessive endings are removed (`Caroline's` →
    Caroline). Returns nothing for a text in capitals.
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
        if len(found) >= _MAX_NAMES:
            break
    return tuple(found)[:_MAX_NAMES]


def _runs(text: str) -> list[list[str]]:
    """Runs of adjacent capitalised words, with the small words between them (`Lord of the Rings`)."""
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
    """Adds the run to `runs`; returns a new, empty run."""
    if run:
        runs.append(run)
    return []


def _named(word: str, first: bool) -> tuple[str, bool]:
    """The word as a name, empty if it can't be one, and whether a possessive ending closes the run. `first`: it opens a
    sentence."""
    bare = _POSSESSIVE.sub("", word)
    if not bare[:1].isupper() or len(bare) < 2 or _CONTRACTION.search(word):
        return "", False
    if fold(bare) in (_NEVER_FIRST if first else _NEVER):
        return "", False
    return bare, bare != word
