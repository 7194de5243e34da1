"""Contrast: what two nearly equal texts differ in, where the difference changes what they say.

An embedding says that two texts are about the same. "Budget is 12,000" and "budget is 15,000", "likes" and "doesn't like",
"prefers tea to coffee" and "prefers coffee to tea" have nearly the same vector, and opposite meanings. The words are those of
English, German, French and Spanish; in other languages only numbers and names are compared.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from types import MappingProxyType

from germane.text.normal import fold

__all__ = ["Statement", "contrast", "keeps", "negations"]

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
