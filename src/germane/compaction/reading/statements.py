"""Statements: what a text says of the work: decisions, open tasks, what fixed an error, and what became of files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

from germane.compaction.notes import Artifact
from germane.compaction.reading.references import FoundPath, paths_in
from germane.text.demands.phrase_rules import FoundPhrase, PhraseRules, phrase_rules
from germane.text.own.own_words import OwnSentence
from germane.text.traits import letter_words

__all__ = ["changes_in", "may_tell_changes", "statement_rules", "statements_in"]

_MAX_NAME = 200
_NEAR = 80
"""Characters between a word such as `deleted` and the path that it is about."""
_CHANGES = frozenset({"created", "edited", "deleted", "renamed"})
_DENIED = re.compile(
    r"(?:\b(?:not|never|if|should|must|will|would|could|can|to|cannot|nicht|wenn|falls|soll|muss|kann|wird|werden|ne|pas|si|doit|no|"
    r"debe|non|se|deve|não|не|если|нужно|надо|to be|have|has to|be)|n['’]t)\b(?: (?:be|yet|been|sein|être|ser|essere|быть))?"
    r"[^,;]{0,5}\Z",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\W\d_]")
_TYPE = re.compile(r"\b[\w.]{1,80}(?:Error|Exception|Warning)\b")


@cache
def statement_rules() -> PhraseRules:
    """Returns the rules for decisions, open and done tasks, fixes, and changes of files that a text reports."""
    return phrase_rules([tomllib.loads(files("germane.compaction.reading").joinpath("statements.toml").read_text("utf-8"))])


def statements_in(sentences: Sequence[OwnSentence]) -> Iterator[Artifact]:
    """Yields what these sentences state, in order. An error that a sentence says to be fixed is named by its type, else it has
    no name, and its change is `resolved: …`. Linear."""
    rules = statement_rules()
    for text, said in sentences:
        if said.rstrip().endswith("?"):
            continue
        paths: list[FoundPath] | None = None
        seen = set[str]()
        for phrase in rules.find(said):
            if phrase.name in _CHANGES:
                paths = list(paths_in(said)) if paths is None else paths
                yield from _changes(said, phrase, paths)
            elif phrase.name not in seen:
                seen.add(phrase.name)
                yield from _stated(text, said, phrase)


def may_tell_changes(text: str) -> bool:
    """Returns whether a word of the rules for changes of files is in the text; most texts have none. Linear."""
    return not _change_words().isdisjoint(letter_words(text))


@cache
def _change_words() -> frozenset[str]:
    """The words of the rules for changes, each up to its first joint."""
    rules = statement_rules().by_word.items()
    return frozenset(_JOINT.split(word)[0] for word, found in rules if any(rule.name in _CHANGES for rule in found))


def changes_in(sentences: Sequence[OwnSentence]) -> Iterator[Artifact]:
    """Yields what these sentences state of files alone, in order. Linear."""
    rules = statement_rules()
    for _, said in sentences:
        if not may_tell_changes(said) or said.rstrip().endswith("?"):
            continue
        paths = list(paths_in(said))
        for phrase in rules.find(said) if paths else ():
            if phrase.name in _CHANGES:
                yield from _changes(said, phrase, paths)


def _stated(text: str, said: str, phrase: FoundPhrase) -> Iterator[Artifact]:
    if phrase.name == "decision":
        yield Artifact(kind="decision", name=_short(text))
    elif phrase.name == "open":
        _, colon, rest = text.partition(": ") if ":" in said[phrase.end : phrase.end + 60] else ("", "", "")
        yield Artifact(kind="task", name=_short(rest if colon and rest.strip() else text), change="open")
    elif phrase.name == "fixed" and not _denied(said, phrase.start):
        named = _TYPE.search(said)
        yield Artifact(kind="error", name=named[0] if named else "", change=f"resolved: {_short(text)}")


def _changes(said: str, phrase: FoundPhrase, paths: Sequence[FoundPath]) -> Iterator[Artifact]:
    """What became of the paths that follow the word, else of the one before it."""
    if not paths or _denied(said, phrase.start):
        return
    behind = [path for path in paths if 0 <= path.start - phrase.end <= _NEAR]
    before = [path for path in paths if 0 <= phrase.start - path.end <= _NEAR]
    if phrase.name == "renamed":
        pair = behind[:2] if len(behind) > 1 else [*before[-1:], *behind[:1]] if behind else before[-2:]
        if len(pair) == 2:
            yield Artifact(kind="file", name=pair[0].path, change=f"renamed to {pair[1].path}")
        return
    end = phrase.end
    listed = list[FoundPath]()
    for path in behind:
        if path.start - end > (_NEAR if not listed else 8):
            break
        listed.append(path)
        end = path.end
    for path in listed or before[-1:]:
        yield Artifact(kind="file", name=path.path, change=phrase.name)


def _denied(said: str, place: int) -> bool:
    return _DENIED.search(said, max(0, place - 40), place) is not None


def _short(text: str) -> str:
    plain = " ".join(text.split()).rstrip()
    return plain if len(plain) <= _MAX_NAME else f"{plain[: _MAX_NAME - 1].rstrip()}…"
