"""Endings: finds in a person's own words what no longer holds, without a new value: "not … any more", "I quit …", "ignore that
rule about …".

It says what was said to have ended, and not whether anything stored is meant: that decides `end_found.py`, by the words that
the two have in common. What is asked, wished or reported ends nothing. The forms stand in `languages/endings.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from germane.memories.extraction.ending_forms import EndingForm, EndingLanguage, SaidWord, ending_forms, said_words
from germane.memories.extraction.language import LANGUAGES
from germane.text.analyse import query_terms
from germane.text.language import detect, of_script
from germane.text.own.own_words import own_words
from germane.types.query import Term

__all__ = ["Ending", "find_endings"]

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
