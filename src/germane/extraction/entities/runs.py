"""Runs: finds words with a capital letter that stand together and may be a name, and what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cache

from germane.extraction.entities.tokens import Token, Tokens, all_of, cue, folded, is_tool, kin, stemmed, without_ending
from germane.text.language import STOP
from germane.text.normal import fold

_MAX_WORDS = 6
_NAME = re.compile(r"[^\W\d_](?:[^\W_]|[-'’.&](?=[^\W_])){0,60}")
_ENDS = re.compile(r"[.!?:;。！？…]")
_BREAKS = re.compile(r"[\n:;\"“„«»”()\[\]{}<>|…]|(?<!\w)['‘]")
ABBREVIATIONS = frozenset(
    [
        "dr",
        "mr",
        "mrs",
        "ms",
        "prof",
        "st",
        "m",
        "mme",
        "mlle",
        "sr",
        "sra",
        "srta",
        "jr",
        "mt",
        "ing",
        "dott",
        "sig",
        "avv",
        "dhr",
        "mevr",
        "hr",
        "fr",
        "co",
        "s.a",
        "b.v",
        "n.v",
        "s.l",
        "s.p",
        "s.r",
    ]
)
_SHOUTED = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class NameRun:
    """Words that may be one name: the tokens from number `first` up to `stop` (exclusive). `opens`: they begin a sentence.
    `title`, `relative` and `greeting` are what stood before the name among its capitalised words, folded; else ''."""

    words: tuple[str, ...]
    folded: tuple[str, ...]
    first: int
    stop: int
    start: int
    end: int
    opens: bool = False
    owns: bool = False
    title: str = ""
    relative: str = ""
    greeting: bool = False

    @property
    def whole(self) -> str:
        return " ".join(self.folded)


@cache
def _never() -> Set[str]:
    """Words that are no names though they have a capital: function words, days, and words that open sentences."""
    stops = frozenset(fold(word) for table in STOP.values() for word in table if len(word) > 1)
    return (stops | all_of(("never", "opening"))) - (cue("named") & folded("people", "first_names"))


@cache
def _names() -> Set[str]:
    return folded("people", "first_names", "weak")


def _shouted(tokens: Tokens, notable: list[int]) -> bool:
    """Whether most words are capitals, so that a capital says nothing."""
    capitals = sum(tokens.whole(number)[0].isupper() for number in notable)
    return capitals > 2 and capitals > _SHOUTED * len(tokens)


def runs(tokens: Tokens, taken: Set[int], notable: list[int]) -> Iterator[NameRun]:
    """Yields the runs of a text in its order. `taken` are the tokens that are something else. Linear."""
    if _shouted(tokens, notable):
        return
    done = -1
    for number in notable:
        if number <= done or number in taken:
            continue
        token = tokens[number]
        if not _capital(token):
            continue
        numbers = _extended(tokens, taken, number, token)
        done = numbers[-1]
        made = _made(tokens, numbers)
        if made is not None:
            yield made


def _capital(token: Token) -> bool:
    return token.word[:1].isupper() and _NAME.fullmatch(token.word) is not None


def _extended(tokens: Tokens, taken: Set[int], number: int, token: Token) -> list[int]:
    """The numbers of the tokens of the run that begins here: capitalised words, and small words between them (`Lord of the
    Rings`)."""
    numbers, held, last = [number], list[int](), token
    following = number + 1
    while following < len(tokens) and len(numbers) < _MAX_WORDS and following not in taken:
        gap = tokens.gap(following)
        if (
            gap.strip(" .'’sS&")
            or not gap
            or (_ENDS.search(last.tail) and fold(last.word) not in ABBREVIATIONS and len(last.word) > 1)
        ):
            break
        token = tokens[following]
        # `held` are small words that belong to the name only if a capital follows: "Bank of" does not end in "of".
        if not token.word and token.tail == "&" and not held:
            held.append(following)
            last = token
        elif _capital(token):
            # "Anna's Tesla" are two names, "Lloyd's Bank" is one.
            if last.possessive and fold(token.word) not in folded("organisations", "organisations", "last"):
                break
            numbers += [*held, following]
            held, last = [], token
        elif token.word in cue("linking") and len(held) < 2 and not last.possessive:
            held.append(following)
            last = token
        else:
            break
        following += 1
    return _split(tokens, numbers)


def _split(tokens: Tokens, numbers: list[int]) -> list[int]:
    """The part of a run before a linking `and` or `y` or the like, unless an organisation's word follows; and before a `van`
    or `de` nothing is cut."""
    company = tokens.folded(numbers[-1]) in folded("organisations", "organisations", "legal", "last")
    person = company and tokens.folded(numbers[0] - 1) in folded("people", "titles", "before") | kin().keys()
    person = person or (company and tokens.folded(numbers[0]) in _names() | folded("people", "titles", "before"))
    for at, number in enumerate(numbers):
        token = tokens[number]
        word = fold(token.word)
        if at and person and word in ("van", "von", "de", "di", "of", "del", "da") and token.word.islower():
            return numbers[:at]  # Meneer Jansen van Tulp Media
        # "Anna and Ben": the second begins a run of its own, as the caller goes on behind the last number.
        if at and word in cue("and_words") and word != "of" and token.word.islower():
            return numbers[:at]
        if at and word in ("of", "for", "fur", "the") and token.word.islower() and not _heads(tokens, numbers[:at]):
            return numbers[:at]
    return numbers


def _heads(tokens: Tokens, numbers: list[int]) -> bool:
    """Whether these words go on with `of`: University of Leeds, Bank of England."""
    word = tokens.folded(numbers[-1])
    return word in folded("organisations", "organisations", "first", "last") or word in (
        "lord",
        "house",
        "isle",
        "gulf",
        "bay",
        "city",
    )


def _made(tokens: Tokens, numbers: list[int]) -> NameRun | None:
    """The run without the words before the name that are none, and without those behind it."""
    opens = _opens(tokens, numbers[0])
    title, relative, greeting = "", "", False
    relatives, titles = kin(), folded("people", "titles", "before")
    while numbers:
        word, token = tokens.folded(numbers[0]), tokens[numbers[0]]
        # Short titles are words too: a stop behind them, or a name, makes `Dr` and `Mme` titles.
        if word in titles and (token.tail[:1] == "." or len(word) > 1) and (len(numbers) > 1 or len(word) > 3):
            title = word
        elif word in relatives and word not in _names():
            relative = relatives[word]
        elif word in cue("greeting") and (opens or len(numbers) > 1):
            greeting = True
        elif len(numbers) > 1 and word in ("de", "la", "el", "o", "a", "le", "des", "du") and title:
            break  # Mevrouw De Vries
        elif word in cue("linking") and not token.word[:1].isupper():
            pass
        elif _is_name(word, opens, len(numbers)) or _is_place(tokens, numbers) or not _no_name(token.word, word):
            break
        elif (
            word in cue("never")
            and len(numbers) > 1
            and tokens.folded(numbers[-1]) in folded("organisations", "organisations", "last")
        ):
            break  # European Space Agency
        numbers = numbers[1:]
    while numbers and (tokens.folded(numbers[-1]) in cue("never") or tokens[numbers[-1]].word[:1].islower()):
        numbers = numbers[:-1]
    if not numbers:
        return None
    found = [tokens[number] for number in numbers]
    return NameRun(
        words=tuple(token.word or "&" for token in found),
        folded=tuple(fold(token.word) or "&" for token in found),
        first=numbers[0],
        stop=numbers[-1] + 1,
        start=found[0].start,
        end=found[-1].end,
        opens=opens and not (title or relative or greeting) and _opens(tokens, numbers[0]),
        owns=found[-1].possessive,
        title=title,
        relative=relative,
        greeting=greeting,
    )


def _no_name(word: str, key: str) -> bool:
    if len(word) > 1 and word.isupper():  # ESA and MIT are words of some language
        return key in cue("opening") or key in cue("never")
    return len(key) < 2 or key in _never() or key.replace("'", "") in _never()


def _is_place(tokens: Tokens, numbers: list[int]) -> bool:
    return len(numbers) > 1 and " ".join(map(tokens.folded, numbers)) in folded("places", "places")


def _is_name(word: str, opens: bool, count: int) -> bool:
    """Whether a word that might also open a sentence is known as a name here."""
    if opens and count == 1:
        return False
    return (word in _names() and not opens) or is_tool(word) or (not word.isascii() and _cyrillic(word))


def _cyrillic(word: str) -> bool:
    return without_ending(word) in stemmed("people", "cyrillic_names", "words")


def _opens(tokens: Tokens, number: int) -> bool:
    if number == 0:
        return True
    before = tokens[number - 1]
    if _BREAKS.search(tokens.text, before.start + len(before.word), tokens[number].start):
        return True
    return _ENDS.search(before.tail) is not None and fold(before.word) not in ABBREVIATIONS
