"""Extract: reads a message's own words sentence by sentence, and returns what the rules of its language find.

A rule applies at the beginning of a clause, so "my boss says I prefer tea" and "if I lived in Rome" say nothing about the
speaker. Questions, conditions, reported speech, jokes and role play are left out: a statement that is missed is still in the
message; a wrong one would be shown as true.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from germane.extraction.memories.extracted import Extracted
from germane.extraction.memories.language import LANGUAGES, ReadingRules, Rule, language, vocabulary
from germane.extraction.memories.statements import find_states, may_state
from germane.text.demands import demand_rules, lasting_words
from germane.text.language import detect
from germane.text.normal import fold
from germane.text.own_words.own_words import MAX_READ, level_text, own_words

_MAX_TEXT, _MIN_TEXT = 300, 8
"""Characters of a statement."""
_MAX_FOUND = 12
_MONTHS = "Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez"
_SENTENCE = re.compile(rf"[^.!?\n]++(?:(?:[.!?]++(?!\s|$|\0|[\"'”)])|(?<=\d)\.(?= ?(?:{_MONTHS})))[^.!?\n]*+)*+[.!?]*+")
"""A full stop inside a number, a name or a German date (5. Mai) ends no sentence."""
_TRIM = " \t\r\n\0,;:.!?-–—*_\"'“”()"
_BLANK = " \t*_-"
_WORD = re.compile(r"[^\W\d_]{1,30}")
_SLUG = re.compile(r"[\W_]+")
_DROPPED = frozenset({"the", "my", "our", "new", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "las"})


class _StateRule(NamedTuple):
    name: str = "state"
    kind: str = "fact"
    confidence: float = 0.7


_STATE = _StateRule()
_DEMAND = _StateRule(name="demand", kind="behavior", confidence=0.65)


class _Sentence(NamedTuple):
    start: int
    end: int
    asks: bool


def extract(text: str, *, speaker: str = "", day: str = "") -> tuple[Extracted, ...]:
    """Returns what the message `text` states, at most 12 things. `speaker` is the name under which it was said: it then stands
    in each text and key, in place of `user`. `day` is the day on which it was said, `2023-05-08`. Pure and linear."""
    text = text[:MAX_READ]
    name = detect(text) or LANGUAGES[0]
    rules = language(name if name in LANGUAGES else LANGUAGES[0])
    known = name in LANGUAGES
    said = vocabulary(text)
    demands = not lasting_words().isdisjoint(said)
    if not (demands or may_state(said) or (known and rules.possible(said))):
        return ()
    words = level_text(own_words(text))
    reader = _Reader(text, words, rules, speaker, day)
    found: dict[tuple[str, str, str], Extracted] = {}
    for sentence in _sentences(words):
        said = vocabulary(words[sentence.start : sentence.end])
        stated = list(reader.read(sentence, rules.possible(said))) if known else []
        if demands and all(one.kind != "behavior" for one in stated):
            stated += reader.demands(sentence)
        for one in stated:
            found.setdefault((one.kind, one.key, one.text.casefold()), one)
        keys = {one.key for one in found.values()}
        for one in reader.states(sentence) if may_state(said) else ():
            if one.key not in keys:
                found.setdefault((one.kind, one.key, one.text.casefold()), one)
    if not found or rules.playing.search(words):
        return ()
    return tuple(found.values())[:_MAX_FOUND]


def _sentences(words: str) -> Iterator[_Sentence]:
    for found in _SENTENCE.finditer(words):
        ended = found[0].rstrip()
        yield _Sentence(found.start(), found.start() + len(ended), ended.endswith("?"))


class _Reader(NamedTuple):
    text: str
    words: str
    """`text` with what isn't the writer's own hidden."""
    rules: ReadingRules
    speaker: str
    day: str

    def read(self, sentence: _Sentence, possible: Sequence[Rule]) -> Iterator[Extracted]:
        """Yields what one sentence states, by the rules that are `possible` in it. The checks that are seldom needed come after
        a rule has matched."""
        clauses = [rule for rule in possible if not rule.anywhere]
        if clauses:
            yield from self._read_clauses(sentence, clauses)
        if len(clauses) == len(possible):
            return
        for place in self.rules.persons.finditer(self.words, sentence.start, sentence.end):
            for rule in possible:
                match = rule.pattern.match(self.words, place.start(), sentence.end) if rule.anywhere else None
                if match is not None and self._is_meant(rule, sentence, match.start()):
                    one = self._found(rule, match, match.start(), match.end(), sentence)
                    if one is not None:
                        yield one

    def _read_clauses(self, sentence: _Sentence, rules: Sequence[Rule]) -> Iterator[Extracted]:
        done = sentence.start
        in_a_case = self._names_a_case(sentence)
        for start, first, opening in self._clauses(sentence):
            if start < done:
                continue
            for rule in rules:
                if not rule.may_begin_with(first) or (rule.kind == "behavior" and not (opening or in_a_case)):
                    continue
                match = rule.pattern.match(self.words, start, sentence.end)
                if match is None:
                    continue
                end = sentence.end if rule.kind == "behavior" else self._end(match.end(), sentence.end)
                if self._is_meant(rule, sentence, start):
                    one = self._found(rule, match, start, end, sentence)
                    if one is not None:
                        yield one
                        done = end
                break

    def demands(self, sentence: _Sentence) -> Iterator[Extracted]:
        """Yields the sentence where it demands something lastingly, whatever its language."""
        said = self.words[sentence.start : sentence.end]
        whole = self.text[sentence.start : sentence.end].strip(_TRIM)
        if sentence.asks or not _MIN_TEXT <= len(whole) <= _MAX_TEXT or demand_rules().lasting(said) is None:
            return
        rules = self.rules
        if not any(given.search(said) for given in (rules.told, rules.override, rules.joking)):
            yield self._made(_DEMAND, self._by_speaker(whole), sentence.start, sentence.end, condition=self._has_a_case(whole))

    def states(self, sentence: _Sentence) -> Iterator[Extracted]:
        """Yields what the sentence says to hold of somebody or something, whatever its language."""
        for state in find_states(self.words, sentence.start, sentence.end):
            key = self._key(state.key, state.who, state.of, state.value)
            if key and not self.rules.joking.search(self.words, sentence.start, sentence.end):
                yield self._made(_STATE, state.value, state.start, state.end, key=key)

    def _clauses(self, sentence: _Sentence) -> Iterator[tuple[int, str, bool]]:
        """The positions where a clause begins, behind words that change nothing, each with the word there in lower case, and
        whether the clause opens the sentence."""
        yield from self._behind_leads(sentence.start, sentence.end, opening=True)
        for one in self.rules.starts.finditer(self.words, sentence.start, sentence.end):
            yield from self._behind_leads(one.end(), sentence.end, opening=False)

    def _behind_leads(self, place: int, limit: int, *, opening: bool) -> Iterator[tuple[int, str, bool]]:
        place = self._behind_blanks(place, limit)
        word = self._word_at(place)
        yield place, word, opening
        for _ in range(3):
            lead = self.rules.leads.match(self.words, place, limit) if word in self.rules.leading else None
            if lead is None or lead.end() == place:
                return
            place = lead.end()
            word = self._word_at(place)
            yield place, word, opening

    def _word_at(self, place: int) -> str:
        word = _WORD.match(self.words, place)
        return "" if word is None else word[0].lower()

    def _names_a_case(self, sentence: _Sentence) -> bool:
        """Whether a sentence begins with the case in which an instruction holds; else an instruction opens its sentence."""
        start = self._behind_blanks(sentence.start, sentence.end)
        return self.rules.case.match(self.words, start, sentence.end) is not None

    def _behind_blanks(self, place: int, limit: int) -> int:
        while place < limit and self.words[place] in _BLANK:
            place += 1
        return place

    def _is_meant(self, rule: Rule, sentence: _Sentence, start: int) -> bool:
        """Whether the words before a clause leave it to be the speaker's own and meant."""
        rules, before = self.rules, self.words[sentence.start : start]
        if rule.unreal and rules.unreal.search(before, _segment(before)):
            return False
        if rules.told.search(rules.own.sub(" ", before)):
            return False
        return not rules.joking.search(self.words, sentence.start, sentence.end)

    def _end(self, start: int, limit: int) -> int:
        end = self.rules.ends.search(self.words, start, limit)
        return limit if end is None else end.start()

    def _found(self, rule: Rule, match: re.Match[str], start: int, end: int, sentence: _Sentence) -> Extracted | None:
        whole = self.text[start:end].strip(_TRIM)
        if sentence.asks and end >= sentence.end - 1 and not rule.anywhere:
            return None
        if rule.kind == "fact":
            return self._fact(rule, match, start, end)
        if not _MIN_TEXT <= len(whole) <= _MAX_TEXT or self.rules.unfinished.search(whole):
            return None
        if rule.kind == "behavior":
            if sentence.asks or self.rules.override.search(self.words, sentence.start, sentence.end):
                return None
        elif self.rules.vague.match(self.words, match.end(), end) or self.rules.elsewhere.search(self.words, match.end(), end):
            return None
        condition = rule.kind == "behavior" and self._has_a_case(whole)
        return self._made(rule, self._by_speaker(whole), start, end, condition=condition)

    def _by_speaker(self, whole: str) -> str:
        return f"{self.speaker}: {whole}" if self.speaker else whole

    def _has_a_case(self, whole: str) -> bool:
        return self.rules.condition.search(whole) is not None

    def _fact(self, rule: Rule, match: re.Match[str], start: int, end: int) -> Extracted | None:
        groups = match.groupdict()
        place = match.span("value") if groups.get("value") else match.span("name")
        value = self.text[slice(*place)].strip(_TRIM)
        key = self._key(rule.key, "", groups.get("of") or "", value)
        if not key:
            return None
        if self.day and self.rules.relative.search(value):
            value = f"{value} (said on {self.day})"
        return self._made(rule, value, start, end, key=key)

    def _key(self, key: str, who: str, of: str, value: str) -> str:
        """A rule's key with its parts filled in; empty where one is missing, or names one of many things. `who` empty is the
        speaker."""
        of, own = _slug(of), _slug(value)
        if not own or ("{of}" in key and not of) or ("{scope}" in key and of in self.rules.general):
            return ""
        person = _slug(who) or _slug(self.speaker) or "user"
        scope = f"{_slug(self.speaker)}." if self.speaker else ""
        return key.replace("{scope}.", scope).replace("{who}", person).replace("{of}", of).replace("{value}", own)

    def _made(
        self, rule: Rule | _StateRule, text: str, start: int, end: int, *, key: str = "", condition: bool = False
    ) -> Extracted:
        return Extracted(
            kind=rule.kind,
            text=text,
            rule=rule.name,
            confidence=rule.confidence,
            key=key,
            share=round((end - start) / max(1, len(self.text.strip())), 3),
            condition=condition,
        )


def _segment(before: str) -> int:
    """Where the last clauses of `before` begin: a condition further back governs something else."""
    second = before.rfind(",", 0, max(0, before.rfind(",", 0, len(before.rstrip(", "))) - 1))
    return max(0, second)


def _slug(text: str) -> str:
    words = [word for word in _SLUG.split(fold(text)) if word]
    while len(words) > 1 and words[0] in _DROPPED:
        del words[0]
    return "-".join(words)[:60]
