"""Lines: makes the lines that may stand in a profile, and chooses which of them stand in so many tokens (PERSON-1). Pure.

Lines are made of a person's own clauses and of memories, each with its worth. Standing instructions come first; what holds
about the person comes after them, by worth per token. Two lines never say the same: of those the newer one stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from math import exp, log
from types import MappingProxyType
from typing import Literal, NamedTuple

from germane.extraction.memories.extracted import is_extracted
from germane.kinds.memories.value import Fact, Memory, written_line
from germane.kinds.profile.reads import ToldClause
from germane.kinds.profile.value import Mark
from germane.text.terms import stem_set
from germane.types.caches import FifoCache
from germane.types.candidate import ABOUT, INSTRUCTION, LineKind, ProfileLine, replaced_by

LineReason = Literal["budget", "duplicate"]
_TOKEN_WEIGHT = 0.7
"""Lines of one kind are taken by ln(worth) − 0.7 ln(tokens), as items are packed."""
_SAME_SHARE = 0.6
"""The share of the stems of two lines that both have when they say the same."""
_CONTAINED_SHARE = 0.85
"""The share of the shorter line's stems that the longer one has then."""
_MIN_STEMS = 3
_FOUND_RULES_SHARE, _FOUND_ABOUT_SHARE = 0.6, 0.4
"""The shares of the budget that instructions may take which were found in messages, and that may be taken by what holds about
the person and was found there: a search finds most of that when it is asked for. What was stated on purpose has no such
limit."""


class UnchosenLine(NamedTuple):
    line: ProfileLine
    reason: LineReason
    tokens: int = 0


class ChosenLines(NamedTuple):
    """The lines that stand, the first to be chosen first, each with its tokens; and the others."""

    lines: tuple[tuple[ProfileLine, int], ...]
    others: tuple[UnchosenLine, ...]

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.lines)


def choose_lines(lines: Sequence[ProfileLine], budget: int, cost: Callable[[ProfileLine], int]) -> ChosenLines:
    """Chooses among `lines` what stands within `budget` tokens; `cost` returns the tokens of a line as written."""
    kept, others = _each_once(lines)
    priced = [(line, cost(line)) for line in kept]
    priced.sort(
        key=lambda pair: (not pair[0].pinned, pair[0].kind != INSTRUCTION, _order(*pair))
    )  # stable: the newer one first
    chosen, left = list[tuple[ProfileLine, int]](), budget
    shares = {INSTRUCTION: int(_FOUND_RULES_SHARE * budget), ABOUT: int(_FOUND_ABOUT_SHARE * budget)}
    for line, tokens in priced:
        found = not (line.stated or line.pinned)
        if tokens > left or (found and tokens > shares[line.kind]):
            others.append(UnchosenLine(line, "budget", tokens))
            continue
        chosen.append((line, tokens))
        left -= tokens
        if found:
            shares[line.kind] -= tokens
    return ChosenLines(tuple(chosen), tuple(others))


def lines_said_by(those: Sequence[ProfileLine], lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """Returns the `lines` that say what one of `those` says, such as a hidden one: nobody who hides a line wants it back in
    other words. What is pinned, or was said again later, isn't among them."""
    if not those or not lines:
        return []
    marked = _Sayings()
    for line in those:
        marked.add(_said(line))
    replaced = replaced_by(those)
    others = [_said(line) for line in lines if not line.pinned]

    def is_said(one: _Said) -> bool:
        return one.line.id in replaced or any(each.line.said_at >= one.line.said_at for each in marked.saying(one))

    return [one.line for one in others if is_said(one)]


class _Said(NamedTuple):
    """What a line says: its stems, as numbers."""

    line: ProfileLine
    stems: frozenset[int]
    core: frozenset[int]


class _Sayings:
    """Lines, of which those are compared with another one that share a stem or a message with it."""

    def __init__(self) -> None:
        self.lines: list[_Said] = []
        self._with_stem = defaultdict[int, list[int]](list)
        self._of_message = defaultdict[str, list[int]](list)

    def add(self, said: _Said) -> None:
        place = len(self.lines)
        self.lines.append(said)
        for stem in said.stems:
            self._with_stem[stem].append(place)
        if said.line.origin:
            self._of_message[said.line.origin].append(place)

    def saying(self, other: _Said) -> Iterator[_Said]:
        """Yields the lines with which a prompt needs the other no more."""
        for place in self._of_message.get(other.line.origin, ()):
            if other.core <= self.lines[place].stems:
                yield self.lines[place]
        shared = Counter(chain.from_iterable(self._with_stem.get(stem, ()) for stem in other.stems))
        for place, both in shared.items():
            one = self.lines[place]
            if one.line.kind == other.line.kind and _same(both, len(one.stems), len(other.stems)):
                yield one


def _each_once(lines: Sequence[ProfileLine]) -> tuple[list[ProfileLine], list[UnchosenLine]]:
    """The lines, newest first, without those in whose place another one stands, and those that a pinned or a newer one says; of
    the lines of one message the longer first."""
    kept, others = _Sayings(), list[UnchosenLine]()
    replaced = replaced_by(lines)
    for line in sorted(lines, key=lambda line: (not line.pinned, -line.said_at.timestamp(), -len(line.text), line.id)):
        said = _said(line)
        if line.id in replaced or any(True for _ in kept.saying(said)):
            others.append(UnchosenLine(line, "duplicate"))
        else:
            kept.add(said)
    return [one.line for one in kept.lines], others


_STEMS: FifoCache[tuple[str, int], frozenset[int]] = FifoCache(1 << 13)
"""By the line's id and its text's hash. No text is kept."""


def _said(line: ProfileLine) -> _Said:
    stems = _stems(line.id, line.text)
    same = not line.core or line.core == line.text
    return _Said(line, stems, stems if same else _stems(line.id, line.core))


def _stems(id: str, text: str) -> frozenset[int]:
    key = id, hash(text)
    known = _STEMS.get(key)
    if known is None:
        known = stem_set(text)
        _STEMS.keep(key, known)
    return known


def _same(both: int, one: int, other: int) -> bool:
    """Whether two lines of so many stems, of which they share `both`, say the same."""
    shorter = min(one, other)
    return both >= _SAME_SHARE * (one + other - both) or (shorter >= _MIN_STEMS and both >= _CONTAINED_SHARE * shorter)


def _order(line: ProfileLine, tokens: int) -> float:
    return _TOKEN_WEIGHT * log(tokens + 2) - log(line.worth)


# How a clause and a memory become lines.


_MIN_RULE, _MIN_MATTERS = 0.3, 0.2
"""Probabilities from which on a clause is a standing instruction, or says what matters, that is worth a line."""
_STATED_PROBABILITY, _MAX_FOUND_PROBABILITY = 0.98, 0.95
"""How probable it is that what was stated on purpose is meant to last, and at most that a clause of a message is."""
_OF_MEMORY: Mapping[str, tuple[LineKind, float]] = MappingProxyType(
    {"behavior": (INSTRUCTION, 0.9), "preference": (ABOUT, 0.8), "fact": (ABOUT, 0.7)}
)
"""The kinds of memories that become lines, with the probability for one that was found in a message."""
_ALWAYS_PROBABILITY = 0.93
"""The probability for one of which a language model says that answers must always respect it."""
_FRESHNESS, _HALF_LIFE = 1.0, 120.0
"""By how many log-odds a line said just now is worth more than an old one; and the days in which this halves."""


def worth_order(lines: Sequence[ProfileLine]) -> list[ProfileLine]:
    """Returns the lines: what is pinned first, then instructions, then by worth, then the newer ones."""
    return sorted(
        lines, key=lambda line: (not line.pinned, line.kind != INSTRUCTION, -line.worth, -line.said_at.timestamp(), line.id)
    )


def memory_line(memory: Memory, mark: Mark | None, at: datetime) -> ProfileLine | None:
    """Returns the line that a memory makes, hidden or not; None for one that makes none."""
    known = _OF_MEMORY.get(memory.kind)
    if known is None:
        return None
    kind, probability = known
    stated, written = not is_extracted(memory), written_line(memory)
    if written.always is False and kind == ABOUT and mark is None:
        return None
    if stated:
        probability, where = _STATED_PROBABILITY, "stated on purpose"
    elif written.always is None:
        where = "found by rules"
    else:
        probability, where = (
            max(probability, _ALWAYS_PROBABILITY) if written.always else probability,
            "found by a language model",
        )
    if written.replaces:
        where += f", in place of {len(written.replaces)} lines"
    return ProfileLine(
        id=memory.id,
        kind=kind,
        text=memory.text,
        worth=_worth(probability, memory.valid_from, at),
        said_at=memory.valid_from,
        why=f"{memory.kind}, {where}",
        stated=stated,
        origin="" if stated else next(iter(memory.derived_from), ""),
        core=str(memory.content.value) if isinstance(memory.content, Fact) else memory.text,
        pinned=mark == "pin",
        replaces=written.replaces,
        speaker=memory.provenance.speaker,
    )


def clause_line(clause: ToldClause, mark: Mark | None, at: datetime) -> ProfileLine | None:
    """Returns the line that a clause makes, hidden or not; None for one that says too little, and where a later statement
    replaced one of its message by then."""
    if any(one.since <= at for one in clause.outdated):
        return None
    kind: LineKind
    if clause.rule >= _MIN_RULE:
        kind, probability, why = INSTRUCTION, clause.rule, f"own words, a standing instruction with P = {clause.rule:.2f}"
    elif clause.matters >= _MIN_MATTERS or mark is not None:
        kind, probability, why = ABOUT, clause.matters, f"own words, matters with P = {clause.matters:.2f}"
    else:
        return None
    return ProfileLine(
        id=clause.line,
        kind=kind,
        text=" ".join(clause.text.split()),
        worth=_worth(min(probability, _MAX_FOUND_PROBABILITY), clause.created_at, at),
        said_at=clause.created_at,
        why=why,
        origin=clause.id,
        core=clause.text,
        pinned=mark == "pin",
        speaker=clause.speaker,
    )


def _worth(probability: float, said_at: datetime, at: datetime) -> float:
    """The probability with what is newer a little ahead: of two statements the newer one more often holds."""
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    days = max(0.0, (at - said_at).total_seconds() / 86_400)
    odds = log(probability / (1 - probability)) + _FRESHNESS * (0.5 ** (days / _HALF_LIFE) - 0.5)
    return 1 / (1 + exp(-odds))
