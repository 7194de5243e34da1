"""Demands: the sentences of a user's own words that demand, forbid or limit lastingly, also in passing (HIST-5).

"Fix the parser, but don't touch the tests" is one; "don't worry" and "I can't find it" aren't. The rules are data, a file of
`languages/` for each language. A sentence that takes a constraint back ("you may touch the tests now") is a demand too:
whoever reads both in their order knows what holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.text.normal import in_lower_case
from germane.text.own_words.own_words import MAX_READ, OwnSentence, own_sentences
from germane.text.specifics import letter_words

MAX_DEMAND = 300
"""Characters of a demand; a longer sentence is cut around its demand."""
_MIN_DEMAND, _MIN_UNSPACED = 6, 4
"""Characters of a demand; fewer in scripts whose characters are syllables or words."""
_MAX_FOUND = 40
"""Demands of one message."""
_MARK = "…"


def demands_in(text: str) -> tuple[str, ...]:
    """Returns the demands of one message of a user, in order, each once, at most 40. Linear; reads 20,000 characters."""
    rules = demand_rules()
    named = rules.named(text[:MAX_READ])
    return demands_of(own_sentences(text, for_task=True), named) if named else ()


def demands_of(sentences: list[OwnSentence], named: frozenset[str] | None = None) -> tuple[str, ...]:
    """As `demands_in`, of sentences that were read before; `named` are the words of rules that their text holds."""
    rules, found = demand_rules(), dict[str, None]()
    for text, said in sentences:
        phrase = next(rules.find(said, named), None)
        if phrase is not None and len(text) >= (_MIN_DEMAND if text.isascii() else _MIN_UNSPACED):
            found[_around(text, phrase)] = None
            if len(found) >= _MAX_FOUND:
                break
    return tuple(found)


def _around(text: str, phrase: FoundPhrase) -> str:
    """The sentence, of a long one the part around its demand."""
    if len(text) <= MAX_DEMAND:
        return text
    room = MAX_DEMAND - 2 * len(_MARK)
    start = max(0, min(phrase.start - room // 3, len(text) - room))
    if start:
        space = text.find(" ", start, phrase.start)
        start = space + 1 if space >= 0 else start
    end = min(len(text), start + room)
    if end < len(text):
        space = text.rfind(" ", phrase.end, end)
        end = space if space > phrase.end else end
    return f"{_MARK if start else ''}{text[start:end].strip()}{_MARK if end < len(text) else ''}"


# Phrase rules find phrases by words to look for, and by what must stand before and behind them. Each rule is looked at
# only where one of its words stands, and reads a bounded part of the sentence on either side, so that the time is
# linear in the text, however many languages have rules. Texts are read in lower case, and the rules are written in it:
# a search that ignores case takes three times as long.


LANGUAGES = (
    *("english", "german", "french", "spanish", "italian", "portuguese", "russian", "dutch", "polish", "turkish", "arabic"),
    *("hindi", "japanese", "chinese", "korean"),
)
"""Languages whose demands are recognised."""
_WORD = re.compile(r"(?<![^\W\d_])(?<![^\W\d_]['’-])[^\W\d_]++(?:['’-][^\W\d_]++)*+")
_FIRST = re.compile(r"[^\W\d_]++")
_JOINTS = re.compile(r"['’-]")
_EXTENSION = re.compile(
    r"(?<=\w)\.(?=(?:py|js|jsx|ts|tsx|toml|ya?ml|json|md|txt|cfg|ini|env|lock|sql|csv|html?|css|go|rs|java|rb|php|cpp|sh|xml|pdf"
    r"|docx?|xlsx?|png|jpe?g|svg|com|org|net|io)(?![\w]))"
)
"""The dot before a file's extension, or the end of a host's name."""
_REACH = 120
"""Characters before and behind a rule's word that are looked at."""
_MAX_WORDS = 80
"""Words of one sentence whose rules are looked at."""
_DEPTH = 4


class PhraseRule(NamedTuple):
    """`before` is searched so that it ends where the word begins, `after` is matched where the word ends."""

    name: str
    before: re.Pattern[str] | None
    not_before: re.Pattern[str] | None
    after: re.Pattern[str]
    asks: bool
    """Whether it holds in a question too."""
    narrated: bool
    """Whether it holds where speakers tell what they do or plan themselves."""
    lasts: bool = False
    """Whether its words say that it holds beyond the task at hand."""


class FoundPhrase(NamedTuple):
    """A rule's word in a sentence, from `start` to `end`."""

    name: str
    start: int
    end: int
    lasts: bool = False


class PhraseRules(NamedTuple):
    by_word: Mapping[str, tuple[PhraseRule, ...]]
    first_words: frozenset[str]
    """What the rules' words are up to their first joint."""
    told: re.Pattern[str] | None
    """What stands before somebody else's words."""
    narrates: re.Pattern[str] | None
    """What stands before a word where speakers tell of themselves."""
    passing: re.Pattern[str] | None = None
    """What names the task at hand: with it no demand lasts beyond that."""
    unspaced: frozenset[str] = frozenset()
    """Words that are looked for anywhere, of languages that don't put spaces between words."""

    def named(self, text: str) -> frozenset[str]:
        """Returns the words of the text with which words of rules begin. Where there are none, no sentence holds a phrase."""
        named = self.first_words & letter_words(text)
        return named if text.isascii() else named | {word for word in self.unspaced if word in text}

    def lasting(self, sentence: str) -> FoundPhrase | None:
        """Returns the first phrase that says it holds beyond the task at hand; None where the sentence names that, asks, or has
        none. Linear in the sentence."""
        if self.passing is not None and self.passing.search(in_lower_case(sentence)) is not None:
            return None
        asked = sentence.rstrip(" \t\n\0\"'”’»)").endswith("?")
        return None if asked else next((one for one in self.find(sentence) if one.lasts), None)

    def find(self, sentence: str, named: frozenset[str] | None = None) -> Iterator[FoundPhrase]:
        """Yields the phrases of one sentence, in their order, each word once. `named` are those of the sentence or of the text
        that it is from. Linear in the sentence."""
        named = self.named(sentence) if named is None else named
        if not named:
            return
        sentence = in_lower_case(sentence)
        if "." in sentence:  # that of a file's name ends no clause
            sentence = _EXTENSION.sub("_", sentence)
        asked = sentence.rstrip().endswith("?")
        looked = 0
        for word in _words(sentence, named, self.unspaced):
            rules, end = self.by_word.get(word[0]), word.end()
            if rules is None:
                rules, end = self._before_joint(word)
            if not rules:
                continue
            for rule in rules:
                if (rule.asks or not asked) and self._fits(rule, sentence, word.start(), end):
                    yield FoundPhrase(rule.name, word.start(), end, rule.lasts)
                    break
            looked += 1
            if looked >= _MAX_WORDS:
                return

    def _before_joint(self, word: re.Match[str]) -> tuple[tuple[PhraseRule, ...], int]:
        """The rules of what stands before a word's joint, and where that ends."""
        joint = _JOINTS.search(word[0])
        if joint is None:
            return (), word.end()
        return self.by_word.get(word[0][: joint.start()], ()), word.start() + joint.start()

    def _fits(self, rule: PhraseRule, sentence: str, start: int, end: int) -> bool:
        low = max(0, start - _REACH)
        if rule.after.match(sentence, end, end + _REACH) is None:
            return False
        if rule.before is not None and rule.before.search(sentence, low, start) is None:
            return False
        if rule.not_before is not None and rule.not_before.search(sentence, low, start) is not None:
            return False
        if not rule.narrated and self.narrates is not None and self.narrates.search(sentence, low, start) is not None:
            return False
        return self.told is None or self.told.search(sentence, low, start) is None


def _words(sentence: str, beginnings: Iterable[str], unspaced: frozenset[str]) -> list[re.Match[str]]:
    """The words of the sentence that begin with one of these, in their order; of those that are looked for anywhere, the
    longest at a place."""
    found: dict[int, re.Match[str]] = {}
    for beginning in sorted(beginnings, key=len):
        pattern = _whole(beginning) if beginning in unspaced else _WORD
        start = sentence.find(beginning)
        while start >= 0:
            if (word := pattern.match(sentence, start)) is not None:
                found[start] = word
            start = sentence.find(beginning, start + 1)
    return [found[start] for start in sorted(found)]


@cache
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(re.escape(word))


@cache
def lasting_words() -> frozenset[str]:
    """Returns the words with which words of demands that last begin: a text without one has no such demand."""
    by_word = demand_rules().by_word.items()
    return frozenset(_FIRST.findall(word)[0] for word, rules in by_word if any(rule.lasts for rule in rules))


@cache
def demand_rules() -> PhraseRules:
    """Returns the rules for what demands, forbids or limits, of all languages."""
    folder = files("germane.text").joinpath("languages")
    return phrase_rules([tomllib.loads(folder.joinpath(f"{name}.toml").read_text("utf-8")) for name in LANGUAGES])


def phrase_rules(tables: Sequence[Mapping[str, Any]]) -> PhraseRules:
    """Returns the rules of these tables, which are read together."""
    by_word: dict[str, tuple[PhraseRule, ...]] = {}
    unspaced = set[str]()
    for table in tables:
        parts = {f"{{{part}}}": text for part, text in table.get("parts", {}).items()}
        for given in table["rule"]:
            rule = _rule(given, parts)
            for word in given["words"].split():
                unspaced |= set() if table.get("reading", {}).get("spaced", True) else {word}
                by_word[word] = (*by_word.get(word, ()), rule)
    told, narrates, passing = (_either(tables, part) for part in ("told", "narrates", "passing"))
    first = frozenset(_FIRST.findall(word)[0] for word in by_word if word not in unspaced)
    return PhraseRules(MappingProxyType(by_word), first, told, narrates, passing, frozenset(unspaced))


def _rule(given: Mapping[str, Any], parts: Mapping[str, str]) -> PhraseRule:
    before, not_before = (
        _compiled(f"(?:{given[part]})\\Z", parts) if given.get(part) else None for part in ("before", "not_before")
    )
    after = _compiled(given["after"], parts)
    asks, narrated, lasts = given.get("asks", False), given.get("narrated", True), given.get("lasts", False)
    return PhraseRule(given["name"], before, not_before, after, asks, narrated, lasts)


def _either(tables: Sequence[Mapping[str, Any]], part: str) -> re.Pattern[str] | None:
    """What any language says of this part of reading; None where none says anything."""
    patterns = [table["reading"][part] for table in tables if part in table.get("reading", {})]
    return re.compile("|".join(patterns)) if patterns else None


def _compiled(pattern: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    for _ in range(_DEPTH):
        for part, text in parts.items():
            pattern = pattern.replace(part, text)
    return re.compile(pattern)
