"""Grounds: what a language model may say of messages only where the messages say it: orders, steps to come, and that a
restriction ended.

A summary, a memory and a line of the profile go on as the user's word, so an order that a language model adds is followed, and
a restriction that it declares lifted is broken. Four rules on words, clause by clause:

- An order, or a step to come, has most of its words from one message of the user or the assistant.
- That something is allowed again, where it was forbidden, has the user's own words that allow it.
- What the user demands isn't turned round: `reverses` reads that of memories, `contradiction` of summaries.
- What is said of a path or an identifier that the user put out of bounds forbids it too, or has its words from one message that
  names it.

The words are those of `grounds.toml`, in the languages of the demands.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from germane.kinds.memories.conflicts import negations
from germane.text.clauses import clause_texts, sentence_texts
from germane.text.normal import fold
from germane.text.own_words.own_words import own_words
from germane.text.specifics import specifics
from germane.text.terms import analyse
from germane.types.message import Role

_ORDER_SHARE = 0.8
"""Share of the words of an order that one message must hold."""
_DEMAND_SHARE = 0.6
"""Share of the words of a demand that make a clause one about it."""
_PARTS = re.compile(r"[:;：；\n]")
"""What a sentence is divided by, so that an order may begin behind it."""
_AROUND = "`'\"“”„«».!?/"
"""What may stand around a path."""
_WORD = re.compile(r"[\w'’]+")


class Grounds:
    """Mutable: what the messages said, message by message, and what the user put out of bounds."""

    __slots__ = ("_allows", "_bounds", "_demands", "_forbidden", "_permits", "_places", "_said")

    def __init__(self, demands: Iterable[str]) -> None:
        """`demands` are what the user demanded, as `demands_in` finds it."""
        self._said: list[frozenset[str]] = []
        """The stems of each message of the user's or the assistant's, and of what an earlier summary says."""
        self._places: dict[str, list[int]] = {}
        """Which of them hold a stem."""
        self._permits = set[str]()
        """The stems of the clauses in which the user allows something."""
        self._allows = False
        demanded = tuple(dict.fromkeys(demands))
        self._demands = [(_content(clause), negations(clause) % 2) for text in demanded for clause in demanding_clauses(text)]
        forbidden = [clause for text in demanded for clause in clause_texts(text) if negations(clause) % 2]
        self._forbidden = frozenset[str]().union(*map(_content, forbidden))
        self._bounds = {fold(name): _stems(name) for clause in forbidden for name in _names(clause)}
        for text in demanded:
            self.add(text, "user")

    def add(self, text: str, role: Role) -> None:
        """Adds what was said, or an earlier summary as the user's. Of a user's message the user's own words count. Linear."""
        if role not in ("user", "assistant"):
            return
        text = own_words(text) if role == "user" else text
        stems = _stems(text)
        for stem in stems:
            self._places.setdefault(stem, []).append(len(self._said))
        self._said.append(stems)
        if role == "user":
            lists = _lists()
            said = (clause for one in sentence_texts(text) if not one.rstrip().endswith("?") for clause in clause_texts(one))
            permits = [_stems(clause) for clause in said if lists.holds(clause, "lifts", "permits")]
            self._permits.update(*permits)
            self._allows = self._allows or bool(permits)

    def missing(self, text: str, *, lasts: bool = False) -> str:
        """Returns what `text` says without grounds: `an order`, `a lifted restriction`, `a change of what is out of bounds`; ''
        where it says nothing such. In a text that `lasts` any clause may begin an order, not a sentence's first alone."""
        lists = _lists()
        for part in (part for sentence in sentence_texts(text) for part in _PARTS.split(sentence)):
            for place, clause in enumerate(clause_texts(part)):
                asks = lists.holds(clause, "steps") or ((lasts or not place) and lists.orders(clause))
                if asks and not self._is_said(_content(clause) - _styles(), _ORDER_SHARE):
                    return "an order"
                if self._lifts(clause, lists) and self._permits.isdisjoint(_content(clause)):
                    return "a lifted restriction"
                if self._leaves_bounds(clause, lists):
                    return "a change of what is out of bounds"
        return ""

    def reverses(self, text: str) -> bool:
        """Whether `text` turns a demand of the user's round: a clause has most of its words, and negates where it doesn't."""
        said = [(_content(clause), negations(clause) % 2) for clause in clause_texts(text)]
        standing = (one for one in self._demands if len(one[0]) > 1 and self._permits.isdisjoint(one[0]))
        return any(
            negated != denied and len(stems & one) >= _DEMAND_SHARE * len(stems)
            for stems, negated in standing
            for one, denied in said
        )

    def ends(self, restriction: str) -> bool:
        """Whether the user's own words may end what `restriction` says: it forbids nothing, or they allow something."""
        return self._allows or not any(negations(clause) % 2 for clause in clause_texts(restriction))

    def _is_said(self, stems: frozenset[str], share: float = 1.0) -> bool:
        """Whether one message holds this share of the stems. It holds one of the rarest then: only such messages are read."""
        least = math.ceil(share * len(stems))
        rarest = sorted(stems, key=lambda stem: len(self._places.get(stem, ())))[: len(stems) - least + 1]
        places = {place for stem in rarest for place in self._places.get(stem, ())}
        return not stems or any(len(stems & self._said[place]) >= least for place in places)

    def _lifts(self, clause: str, lists: _Lists) -> bool:
        """Whether the clause says that a restriction ended: it names one, or shares a word with one of the user's."""
        if not lists.holds(clause, "lifts"):
            return False
        return lists.holds(clause, "restricts") or not self._forbidden.isdisjoint(_content(clause))

    def _leaves_bounds(self, clause: str, lists: _Lists) -> bool:
        folded = fold(clause)
        named = [stems for name, stems in self._bounds.items() if name in folded]
        if not named:
            return False
        content = _content(clause)
        if lists.holds(clause, "lifts"):
            return self._permits.isdisjoint(content)
        if negations(clause) % 2 or lists.holds(clause, "forbids"):
            return False
        rest = content.difference(*named)
        return bool(rest) and not self._is_said(rest.union(*named))


class _Lists(NamedTuple):
    """The lists of all languages: phrases between spaces."""

    phrases: Mapping[str, tuple[str, ...]]
    first: Mapping[str, tuple[str, ...]]
    """What begins an order, by its first word."""

    def holds(self, clause: str, *names: str) -> bool:
        spaced = _spaced(clause)
        return any(phrase in spaced for name in names for phrase in self.phrases[name])

    def orders(self, clause: str) -> bool:
        spaced = _spaced(clause)
        begins = spaced.split(maxsplit=1)
        return bool(begins) and any(spaced.startswith(phrase) for phrase in self.first.get(begins[0], ()))


def demanding_clauses(demand: str) -> Sequence[str]:
    """Returns the first clause of a demand, and those that begin with a negation: the others give reasons. Linear."""
    first, *others = clause_texts(demand) or [""]
    return [first, *(clause for clause in others if negations(clause.split(maxsplit=1)[0]))]


def _names(clause: str) -> list[str]:
    """The paths and identifiers of a clause."""
    paths = (word for each in clause.split() if "/" in (word := each.strip(_AROUND)))
    return [name for name in dict.fromkeys((*specifics(clause), *paths)) if any(map(str.isalpha, name))]


def _spaced(text: str) -> str:
    return f" {' '.join(_WORD.findall(fold(text)))} "


def _stems(text: str) -> frozenset[str]:
    return frozenset(analyse(text))


def _content(clause: str) -> frozenset[str]:
    """The stems of a clause without those of words that only report, lift or demand."""
    return _stems(clause) - _reporting()


@cache
def _reporting() -> frozenset[str]:
    said = (phrase for name in ("reports", "lifts", "steps", "restricts") for phrase in _lists().phrases[name])
    return frozenset(analyse(" ".join(said)))


@cache
def _styles() -> frozenset[str]:
    """The stems of verbs that order nothing but how to write: "use metric units"."""
    return frozenset(analyse(" ".join(_lists().phrases["styles"])))


@cache
def _lists() -> _Lists:
    tables: Sequence[Mapping[str, Sequence[str]]] = list(
        tomllib.loads(files("germane.extraction.llm").joinpath("grounds.toml").read_text(encoding="utf-8")).values()
    )
    phrases = {name: tuple({_spaced(one) for table in tables for one in table[name]}) for name in tables[0]}
    first: dict[str, tuple[str, ...]] = {}
    for phrase in sorted(phrases["imperatives"]):
        word = phrase.split(maxsplit=1)[0]
        first[word] = (*first.get(word, ()), phrase)
    return _Lists(phrases, first)
