"""Ended by: whether a statement that something has ended means a certain memory, by the words that the two have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from germane.memories.contrast import negations
from germane.memories.extraction.ending_forms import ending_forms, stances
from germane.memories.extraction.endings import Ending
from germane.memories.extraction.keys import speaks_of
from germane.memories.memory import Behavior, Fact, Memory, Preference
from germane.text.analyse import query_terms
from germane.text.normal import fold
from germane.types.query import Term

__all__ = ["Meant", "how_meant", "opposite"]

Meant = Literal["sure", "likely"]
_MOST, _HALF = 0.6, 0.5
"""The shares of the memory's words, and of the statement's, that the two must have in common."""
_MAX_OTHER = 2
"""Words of a statement that may belong neither to the fact nor to its key, such as a place or a reason."""
_FORBIDDING = ("allergy", "diet")
"""Keys of facts that forbid something."""
_ENDS_RULES = frozenset({"dropped", "lifted", "resumed"})
_ENDS_FACTS = frozenset({"acts", "states", "resumed"})


def how_meant(ending: Ending, memory: Memory, speaker: str = "") -> Meant | None:
    """Whether the statement means the memory: `likely` where it does unless it means another one as well. `speaker` is the name
    under which it was said. Linear in the two texts."""
    match memory.content:
        case Fact(key=key, value=value):
            return _fact_meant(ending, key, value, speaker) if ending.kind in _ENDS_FACTS else None
        case Preference(text=text) if ending.kind in ("acts", "states", "dropped") and ending.own:
            fits = ending.kind != "states" or _against(text) != _against(ending.text)
            return _words_meant(_objects(ending.terms), object_terms(text), few=False) if fits else None
        case Preference(text=text) | Behavior(text=text) if ending.kind in _ENDS_RULES:
            if ending.kind != "dropped" and _against(text) != (ending.kind == "resumed"):
                return None
            return _words_meant(_objects(ending.terms), object_terms(text), few=True)
        case _:
            return None


def opposite(text: str, memory: Memory) -> bool:
    """Whether a preference is the opposite of another: one is for, the other against the same thing."""
    if not isinstance(memory.content, Preference) or _against(text) == _against(memory.text):
        return False
    one, other = object_terms(text), object_terms(memory.text)
    return bool(one) and _shared(one, other) == len(one) and _shared(other, one) == len(other)


def object_terms(text: str) -> tuple[Term, ...]:
    """The terms of what a preference or an instruction is about: without verbs of liking, and words that name nothing."""
    return _objects(query_terms(text))


def _objects(terms: Iterable[Term]) -> tuple[Term, ...]:
    plain, (likes, dislikes) = _plain(), stances()
    return tuple(term for term in terms if term.word not in plain and not (likes.has(term.word) or dislikes.has(term.word)))


def _fact_meant(ending: Ending, key: str, value: object, speaker: str) -> Meant | None:
    if not isinstance(value, str):
        return None
    terms, whose = ending.terms, key.partition(".")[0]
    mine = whose in ("user", fold(speaker).replace(" ", "-")) or "." not in key
    if mine and not ending.own:
        return None
    if not mine:
        named = [term for term in terms if term.word in whose.split("-")]
        if not named:
            return None
        terms = tuple(term for term in terms if term not in named)
    said = query_terms(value)
    core = [term for term in said if not speaks_of(key, term.word) and term.word not in _plain()] or list(said)
    if not core or _shared(core, terms) < len(core):
        return None
    if ending.kind == "resumed" and not (_forbids(key) or _against(value)):
        return None
    if ending.kind == "states" and _against(value) and _against(ending.text):
        return None
    others = [term for term in terms if not _in(term, said) and not speaks_of(key, term.word)]
    about = any(speaks_of(key, term.word) for term in terms)
    if mine and any(term in others for term in ending.subject):
        return None
    return "sure" if not others or (about and len(others) <= _MAX_OTHER) else None


def _words_meant(terms: Sequence[Term], wanted: Sequence[Term], *, few: bool) -> Meant | None:
    """`few` says that one of several words is enough where no other memory is meant: rules are named in short."""
    shared = _shared(wanted, terms)
    if not shared:
        return None
    of_statement = _shared(terms, wanted)
    if shared >= _MOST * len(wanted) and of_statement >= _HALF * len(terms):
        return "sure"
    if of_statement == len(terms) and (few or of_statement > 1 or shared >= _HALF * len(wanted)):
        return "likely"
    return "likely" if few and shared >= _MOST * len(wanted) else None


def _forbids(key: str) -> bool:
    return any(one in key.split(".") for one in _FORBIDDING)


def _against(text: str) -> bool:
    """Whether a text is against something: its negations and words of disliking are odd in number."""
    _, dislikes = stances()
    words = (fold(word) for word in text.replace("'", " ").replace("’", " ").split())
    unknown = sum(dislikes.has(word) and not negations(word) for word in words)
    return (negations(text) + unknown) % 2 == 1


def _shared(some: Sequence[Term], others: Sequence[Term]) -> int:
    """How many of the terms the others hold."""
    stems = {stem for term in others for stem in term.stems}
    return sum(not stems.isdisjoint(term.stems) for term in some)


def _in(term: Term, others: Iterable[Term]) -> bool:
    return any(not set(term.stems).isdisjoint(other.stems) for other in others)


@cache
def _plain() -> frozenset[str]:
    """The words of all languages that name no object, folded."""
    return frozenset(fold(word) for language in ending_forms().languages for word in language.plain)
