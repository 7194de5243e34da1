"""Conflicts: what two memories of one owner have to do with each other: near-duplicates, or a conflict.

A conflict is recorded for a person to decide. An embedding says that two texts are about the same, and not whether they
agree: "Budget is 12,000" and "budget is 15,000", "likes" and "doesn't like", "prefers tea to coffee" and "prefers coffee to
tea" have nearly the same vector, and opposite meanings. `contrast` compares the words. The words are those of English,
German, French and Spanish; in other languages only numbers and names are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from germane.kinds.memories.value import Episode, Fact, Memory
from germane.text.normal import fold

NEAR_COSINE = 0.92
"""The cosine above which two memories may say the same (MEM-4)."""
LinkKind = Literal["near_duplicate", "conflict"]
ConflictReason = Literal["same_time", "pinned", "number", "negation", "date", "order", "ended"]
CONFLICT_REASONS: tuple[ConflictReason, ...] = get_args(ConflictReason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two memories that contradict each other, recorded for review. `reason` is `same_time` (two values of a fact were stated
    at the same time; the later one counts), `pinned` (a fact superseded a pinned one), `ended` (the newer one says that
    something has ended, and the older one may be meant), or what two nearly equal texts differ
    in: `number`, `negation`, `date`, or `order` of the words. `kept` is the id of the memory that was kept, or `both`;
    None while the conflict is open."""

    id: str
    reason: ConflictReason
    older: Memory
    newer: Memory
    created_at: datetime
    resolved_at: datetime | None = None
    kept: str | None = None

    def without_content(self) -> Contradiction:
        """Returns the contradiction as a caller gets it who may not read: its memories without their content."""
        return replace(self, older=self.older.without_content(), newer=self.newer.without_content())


@dataclass(frozen=True, slots=True, kw_only=True)
class ContradictionRecord:
    """A contradiction as an export holds it: `older` and `newer` are the ids of its memories."""

    id: str
    reason: ConflictReason
    older: str
    newer: str
    created_at: datetime
    resolved_at: datetime | None = None
    kept: str | None = None


class Compared(NamedTuple):
    """A memory that is compared with several others, and its text, which is read once for all of them."""

    memory: Memory
    statement: Statement

    @classmethod
    def of(cls, memory: Memory) -> Compared:
        return cls(memory, Statement(memory.text))


def relation(one: Compared, other: Compared) -> tuple[LinkKind, str] | None:
    """Returns how two memories with nearly the same vector are linked, and why; None where they aren't.

    Facts are linked only where their keys are the same name; one key's own values form a timeline and aren't linked. Two
    episodes that differ in a number or a date are two events and no conflict.
    """
    first, second = one.memory.content, other.memory.content
    if isinstance(first, Fact) and isinstance(second, Fact) and not _same_name(first.key, second.key):
        return None
    difference = contrast(one.statement, other.statement)
    if not difference:
        return "near_duplicate", ""
    if isinstance(first, Episode) or isinstance(second, Episode):
        return None
    return "conflict", difference


def _same_name(one: str, other: str) -> bool:
    return one != other and fold(one) == fold(other)


# What two nearly equal texts differ in, where the difference changes what they say.


_TOKEN = re.compile(r"[\w'’.,:]++")
_MARKS = ".,:'’"
_GROUPED = re.compile(r"\d{1,3}(?:[.,]\d{3})++")


def _listed(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in line.split())


_NAMED_NUMBERS = (
    "zero null cero|one eins uno|two twice zwei deux dos|three drei trois tres third|four vier quatre cuatro fourth",
    "five funf cinq cinco fifth|six sechs seis sixth|seven sieben sept siete seventh|eight acht huit ocho eighth",
    "nine neun neuf nueve ninth|ten zehn dix diez tenth|eleven elf onze once|twelve zwolf douze doce",
)
_NUMBERS = MappingProxyType(
    {word: str(number) for number, words in enumerate("|".join(_NAMED_NUMBERS).split("|")) for word in words.split()}
)
_DATES = frozenset(
    _listed(
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag",
        "lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miercoles jueves viernes sabado domingo",
        "january february march april june july august september october november december",
        "januar februar marz mai juni juli oktober dezember janvier fevrier mars avril juin juillet aout octobre decembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "morning noon afternoon evening night morgens mittags abends nachts matin soir manana noche",
        "today tomorrow yesterday weekly daily monthly yearly",
    )
)
_NEGATIONS = frozenset(
    _listed(
        "not no never none nobody nothing neither nor without cannot hardly",
        "nicht kein keine keinen keinem keiner keines nie niemals nichts ohne",
        "ne jamais aucun aucune sans rien nunca jamas ningun ninguna sin tampoco",
        "forbidden prohibited denied refused dislikes dislike hates hate avoids avoid disabled disable off false closed",
        "stopped stop verboten hasst vermeidet interdit deteste prohibido odia",
    )
)
_COMPARING = frozenset(
    _listed(
        "than over instead rather before after from prefer prefers preferred",
        "als statt lieber vor nach bevorzugt plutot avant apres prefere antes despues prefiere",
    )
)
_ENDS = frozenset("!?\n")


class Statement:
    """A text to compare with others; each of its parts is read once, however many others there are."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> list[str]:
        return _words(self.text)

    @cached_property
    def numbers(self) -> Counter[str]:
        return _numbers(self.words)

    @cached_property
    def dates(self) -> set[str]:
        return _dates(self.words)

    @cached_property
    def negated(self) -> bool:
        return _negations(self.words) % 2 == 1

    @cached_property
    def names(self) -> set[str]:
        return _names(self.text)


def contrast(one: Statement, other: Statement) -> str:
    """Returns what changes the meaning: `number`, `date`, `negation`, `order` (the words compare in the other direction) or
    `name` (each text names what the other doesn't); '' where none of these differs. Linear in the length of the texts."""
    if one.numbers != other.numbers:
        return "number"
    if one.dates != other.dates:
        return "date"
    if one.negated != other.negated:
        return "negation"
    if _turned(one.words, other.words):
        return "order"
    return "name" if one.names.difference(other.words) and other.names.difference(one.words) else ""


def keeps(whole: Statement, part: Statement) -> bool:
    """Whether `whole` has the numbers, dates and names of `part`, and a negation where `part` has one. Linear."""
    same = part.numbers.keys() <= whole.numbers.keys() and part.dates <= whole.dates
    return same and part.names <= set(whole.words) and (_negations(whole.words) > 0 or not _negations(part.words))


def negations(text: str) -> int:
    """Returns how many words of the text negate, forbid or end something. Linear."""
    return _negations(_words(text))


def _words(text: str) -> list[str]:
    """The folded words. Of a few characters, such as an Arabic tatweel that stands alone, folding leaves nothing."""
    return [word for token in _TOKEN.findall(text) for part in _parts(token) if (word := fold(part))]


def _parts(token: str) -> list[str]:
    if token.isalnum():
        return [token]
    token = token.strip(_MARKS)
    return [token] if token[:1].isdigit() else [part for part in re.split("[.,:]", token) if part]


def _numbers(words: list[str]) -> Counter[str]:
    numbers = Counter[str]()
    for word in words:
        if word[0].isdigit():
            numbers[re.sub("[.,]", "", word) if _GROUPED.fullmatch(word) else word] += 1
        elif word in _NUMBERS:
            numbers[_NUMBERS[word]] += 1
    return numbers


def _dates(words: list[str]) -> set[str]:
    return {word if word in _DATES else word[:-1] for word in words if word in _DATES or word.removesuffix("s") in _DATES}


def _negations(words: list[str]) -> int:
    return sum(word in _NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def _turned(first: list[str], second: list[str]) -> bool:
    """Whether words that both texts have once stand in another order, in texts that compare."""
    if _COMPARING.isdisjoint(first) or _COMPARING.isdisjoint(second):
        return False
    once = {word for word, times in Counter(first).items() if times == 1}
    once &= {word for word, times in Counter(second).items() if times == 1}
    return [word for word in first if word in once] != [word for word in second if word in once]


def _names(text: str) -> set[str]:
    """Capitalised words within the sentences of `text`, without dates."""
    found, begins = set[str](), True
    for match in _TOKEN.finditer(text):
        begins = begins or not _ENDS.isdisjoint(text[max(0, match.start() - 2) : match.start()])
        words = _parts(match[0])
        found.update(fold(word) for word in words[begins:] if word[0].isupper())
        begins = match[0][-1] in ".:"
    return {name for name in found if not _dates([name])}
