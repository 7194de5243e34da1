"""Endings: what a person's own words say to have ended, without a new value: "not … any more", "ignore that rule about …".

`find_endings` says what was said to have ended, and not whether anything stored is meant. `how_meant` tells whether a
certain memory is meant, by the words that the two have in common. `restating_terms` are the words by which a message may
speak of something said before as changed. What is asked, wished or reported ends nothing. The forms stand in
`languages/endings.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from germane.extraction.memories.ending_forms import (
    EndingForm,
    EndingLanguage,
    SaidWord,
    denying,
    ending_forms,
    said_words,
    stances,
)
from germane.extraction.memories.language import LANGUAGES
from germane.extraction.memories.statements import speaks_of
from germane.kinds.memories.conflicts import negations
from germane.kinds.memories.value import Behavior, Fact, Memory, Preference
from germane.text.clauses import sentences
from germane.text.language import detect, of_script
from germane.text.normal import fold
from germane.text.own_words.own_words import own_words
from germane.text.specifics import temporal
from germane.text.terms import query_terms, term_hash
from germane.types.query import Term

_MAX_READ = 20_000
"""Characters of a message that are read."""
_MAX_FOUND = 8
_MAX_TEXT = 300
"""Characters of the sentence that is kept."""
_MAX_CLAUSE = 80
"""Words of a clause that are read."""
_SENTENCE_END = re.compile(r"[.!?](?=[\s\"'”’»)]|\Z)|[\n。！？…]")
_CLAUSE_END = re.compile(r"[,.;:!?](?=\s|\Z)|[\n\0()–—。！？；：，、…]| - ")
_TRIM = " \t\r\n\0,;:-–—*_\"'“”()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """`kind` is one of `FORM_KINDS`. `text` is the sentence in which it was said. `subject` are the terms that stand before the
    form, `object` the others of the clause. `own` says that it is about the person, as far as the words before it tell."""

    kind: str
    text: str
    subject: tuple[Term, ...]
    object: tuple[Term, ...]
    own: bool = True
    share: float = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.subject, *self.object)


def find_endings(text: str) -> tuple[Ending, ...]:
    """Returns what the message `text` says to have ended or changed, in order, at most 8 of them. Pure and linear."""
    text = text[:_MAX_READ]
    name = detect(text) or LANGUAGES[0]
    words = own_words(text)
    found: list[Ending] = []
    for start, end in _sentences(words):
        asks = words[start:end].rstrip().endswith(("?", "？"))
        for ending in _read(words, text, start, end, name, asks=asks):
            if all((ending.kind, ending.text, ending.object) != (one.kind, one.text, one.object) for one in found):
                found.append(ending)
        if len(found) >= _MAX_FOUND:
            break
    return tuple(found[:_MAX_FOUND])


def _sentences(words: str) -> Iterator[tuple[int, int]]:
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(words)), len(words)]
    return ((start, end) for start, end in pairwise(ends) if words[start:end].strip(_TRIM))


def _read(words: str, text: str, start: int, end: int, name: str, *, asks: bool) -> Iterator[Ending]:
    said = text[start:end].strip(_TRIM + "\n")
    quoted = said if len(said) <= _MAX_TEXT else f"{said[: _MAX_TEXT - 1]}…"
    share = round((end - start) / max(1, len(text)), 3)
    for clause in _clauses(words, start, end):
        strong = set[int]()
        for form, taken in _forms_in([one.word for one in clause], name, asks=asks):
            if strong and (form.kind == "changed" or not strong.isdisjoint(taken)):
                continue
            strong.update(taken)
            ending = _ending(form, taken, clause, words, quoted, share)
            if ending is not None:
                yield ending


def _clauses(words: str, start: int, end: int) -> Iterator[list[SaidWord]]:
    """The words of each clause of a sentence."""
    begin = start
    for mark in (*(one.start() for one in _CLAUSE_END.finditer(words, start, end)), end):
        if mark > begin:
            found = said_words(words[begin:mark])[:_MAX_CLAUSE]
            if found:
                yield [SaidWord(word, first + begin, last + begin) for word, first, last in found]
        begin = mark + 1


def _forms_in(words: Sequence[str], name: str, *, asks: bool) -> Iterator[tuple[EndingForm, tuple[int, ...]]]:
    """The forms in a clause with the places that they take, those that end something first. Cues of mere change are short, so
    that only those of the message's own language count."""
    forms = ending_forms()
    weak: list[tuple[EndingForm, tuple[int, ...]]] = []
    for place, word in enumerate(words):
        own = _by_script(word) or name
        for form in forms.beginning(word, own):
            if asks and not form.asked:
                continue
            if form.kind == "changed" and form.language.name != own:
                continue
            taken = form.match(words, place)
            if taken is None:
                continue
            if form.kind == "changed":
                weak.append((form, taken))
            else:
                yield form, taken
    yield from weak


def _by_script(word: str) -> str:
    """The language of a word whose script tells it; kana apart, Chinese characters count for Chinese."""
    script = of_script(word)
    if script:
        return script
    if script is None:
        return ""
    return "japanese" if "\u3040" <= word[0] <= "\u30ff" else "chinese"


def _ending(
    form: EndingForm, taken: tuple[int, ...], clause: Sequence[SaidWord], words: str, quoted: str, share: float
) -> Ending | None:
    known, (first, last) = form.language, (taken[0], taken[-1])
    begin = max((place + 1 for place in range(first) if clause[place].word in known.joins), default=0)
    before = [one.word for one in clause[begin:first]]
    if known.holds(known.unreal, [one.word for one in clause[:last]]):
        return None
    stop = next((place for place in range(last + 1, len(clause)) if clause[place].word in known.joins), len(clause))
    if form.kind == "acts":
        stop = next((place for place in range(last + 1, stop) if clause[place].word in known.ands), stop)
    own = known.is_personal(before) if form.kind == "acts" else not known.holds(known.others, before)
    subject = _rest(clause, words, range(begin, first), taken)
    rest = _rest(clause, words, range(first, stop), taken)
    return Ending(
        kind=form.kind,
        text=quoted,
        subject=_content(known, subject),
        object=_content(known, rest),
        own=own,
        share=share,
    )


def _content(known: EndingLanguage, text: str) -> tuple[Term, ...]:
    return query_terms(known.without(known.plain | known.first | known.small, text))


def _rest(clause: Sequence[SaidWord], words: str, places: range, taken: tuple[int, ...]) -> str:
    """The words at these places that the form doesn't take, as they were written; those that touched still do."""
    pieces: list[str] = []
    before = -1
    for place in places:
        if place in taken:
            continue
        _, start, end = clause[place]
        pieces.append(words[start:end] if start == before else f" {words[start:end]}")
        before = end
    return "".join(pieces)


# Which memory a statement means, told by the words that the two have in common.


Meant = Literal["sure", "likely"]
_MIN_SHARE, _MIN_HALF = 0.6, 0.5
"""The shares of the memory's words, and of the statement's, that the two must have in common."""
_MAX_OTHER = 2
"""Words of a statement that may belong neither to the fact nor to its key, such as a place or a reason."""
_FORBIDDING_KEYS = ("allergy", "diet")
"""Keys of facts that forbid something."""
_RULE_ENDINGS = frozenset({"dropped", "lifted", "resumed"})
_FACT_ENDINGS = frozenset({"acts", "states", "resumed"})


def how_meant(ending: Ending, memory: Memory, speaker: str = "") -> Meant | None:
    """Whether the statement means the memory: `likely` where it does unless it means another one as well. `speaker` is the name
    under which it was said. Linear in the two texts."""
    match memory.content:
        case Fact(key=key, value=value):
            return _fact_meant(ending, key, value, speaker) if ending.kind in _FACT_ENDINGS else None
        case Preference(text=text) if ending.kind in ("acts", "states", "dropped") and ending.own:
            fits = ending.kind != "states" or _against(text) != _against(ending.text)
            return _words_meant(_objects(ending.terms), _object_terms(text), few=False) if fits else None
        case Preference(text=text) | Behavior(text=text) if ending.kind in _RULE_ENDINGS:
            if ending.kind != "dropped" and _against(text) != (ending.kind == "resumed"):
                return None
            return _words_meant(_objects(ending.terms), _object_terms(text), few=True)
        case _:
            return None


def opposite(text: str, memory: Memory) -> bool:
    """Whether a preference is the opposite of another: one is for, the other against the same thing."""
    if not isinstance(memory.content, Preference) or _against(text) == _against(memory.text):
        return False
    one, other = _object_terms(text), _object_terms(memory.text)
    return bool(one) and _shared(one, other) == len(one) and _shared(other, one) == len(other)


def _object_terms(text: str) -> tuple[Term, ...]:
    """The terms of what a preference or an instruction is about: without verbs of liking, and words that name nothing."""
    return _objects(query_terms(text))


def _objects(terms: Iterable[Term]) -> tuple[Term, ...]:
    plain, (likes, dislikes) = _plain(), stances()
    return tuple(term for term in terms if term.word not in plain and not (likes.has(term.word) or dislikes.has(term.word)))


def _fact_meant(ending: Ending, key: str, value: object, speaker: str) -> Meant | None:
    if not isinstance(value, str):
        return None
    # The key says whose fact it is: `user.home` is the speaker's, `anna-berg.home` another person's, who must be named.
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
    # All that the value says must come again, but for words that name its kind: "the Acme job" ends `employer: Acme`.
    core = [term for term in said if not speaks_of(key, term.word) and term.word not in _plain()] or list(said)
    if not core or _shared(core, terms) < len(core):
        return None
    if ending.kind == "resumed" and not (_forbids(key) or _against(value)):
        return None
    # "I don't eat meat" repeats `diet: no meat`, though it denies something: nothing has ended.
    if ending.kind == "states" and _against(value) and _against(ending.text):
        return None
    # Words that neither the fact nor its key has may mean something else: a few are a place or a reason, more are too many.
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
    if shared >= _MIN_SHARE * len(wanted) and of_statement >= _MIN_HALF * len(terms):
        return "sure"
    if of_statement == len(terms) and (few or of_statement > 1 or shared >= _MIN_HALF * len(wanted)):
        return "likely"
    return "likely" if few and shared >= _MIN_SHARE * len(wanted) else None


def _forbids(key: str) -> bool:
    return any(one in key.split(".") for one in _FORBIDDING_KEYS)


def _against(text: str) -> bool:
    """Whether a text is against something: its negations and words of disliking are odd in number."""
    _, dislikes = stances()
    words = (fold(word) for word in text.replace("'", " ").replace("’", " ").split())
    unknown = sum(dislikes.has(word) and not negations(word) for word in words)
    return (negations(text) + unknown) % 2 == 1  # "doesn't dislike" is for it


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


# Most changes are told without any form of ending: "not the milk after all" has one, "cutover is 29 June" and "it's not
# the milk" have none. So such words are only compared with those of earlier messages; what is alike may be outdated,
# and nothing ends.


_MAX_RESTATED, _MAX_TERMS = 2_000, 64
"""Characters of a message that are read, and terms that are kept."""
_QUOTED = re.compile(r"^>.*$", re.MULTILINE)
"""A line that somebody else wrote, such as those of a document (`prepared_message.py`)."""
_ENDED, _CHANGED, _BESIDE = 1.0, 0.7, 0.3
"""What a term weighs that is said to have ended, that stands in a sentence of a change, and that stands elsewhere."""
MIN_CUE = _CHANGED
"""A term that weighs less says nothing of a change by itself."""
_MIN_DIGITS = 3


class RestatingTerm(NamedTuple):
    """The hashes of a term's stems, and what it weighs: `weight`, and `dated` in comparison with a message that names a time
    too."""

    hashes: tuple[int, ...]
    weight: float
    dated: float


def restating_terms(text: str, endings: Iterable[Ending]) -> tuple[RestatingTerm, ...]:
    """Returns the terms of a message that may speak of something as changed; none where nothing in it does. Linear."""
    text = _QUOTED.sub("", text[:_MAX_RESTATED])
    ended = {hash for ending in endings for term in ending.terms for hash in _hashes(term)}
    denied, dated = list[str](), list[str]()
    for start, end in sentences(text):
        sentence = text[start:end]
        if temporal(sentence):
            dated.append(fold(sentence))
        if any(denying().has(one.word) for one in said_words(sentence)):
            denied.append(fold(sentence))
    if not (ended or denied or dated):
        return ()
    terms: list[RestatingTerm] = []
    for term in _object_terms(text):
        if term.word.isdigit() and len(term.word) < _MIN_DIGITS:
            continue
        hashes = _hashes(term)
        changed = any(term.word in sentence for sentence in denied)
        weight = _ENDED if not ended.isdisjoint(hashes) else _CHANGED if changed else _BESIDE
        names_time = any(term.word in sentence for sentence in dated)
        terms.append(RestatingTerm(hashes, weight, max(weight, _CHANGED) if names_time else weight))
        if len(terms) == _MAX_TERMS:
            break
    return tuple(terms)


def _hashes(term: Term) -> tuple[int, ...]:
    return tuple(map(term_hash, term.stems))
