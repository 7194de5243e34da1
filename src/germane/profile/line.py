"""Lines: makes the lines that may stand in a profile, of a person's own clauses and of memories, each with its worth
(PERSON-1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import exp, log
from types import MappingProxyType

from germane.memories.extraction.extracted import is_extracted
from germane.memories.memory import Fact, Memory
from germane.memories.written_line import written_line
from germane.profile.marking import Mark
from germane.profile.reader import ToldClause
from germane.types.profile_line import ABOUT, INSTRUCTION, LineKind, ProfileLine

__all__ = ["clause_line", "memory_line", "worth_order"]

_MIN_RULE, _MIN_MATTERS = 0.3, 0.2
"""Probabilities from which on a clause is a standing instruction, or says what matters, that is worth a line."""
_STATED, _MOST_FOUND = 0.98, 0.95
"""How probable it is that what was stated on purpose is meant to last, and at most that a clause of a message is."""
_OF_MEMORY: Mapping[str, tuple[LineKind, float]] = MappingProxyType(
    {"behavior": (INSTRUCTION, 0.9), "preference": (ABOUT, 0.8), "fact": (ABOUT, 0.7)}
)
"""The kinds of memories that become lines, with the probability for one that was found in a message."""
_ALWAYS = 0.93
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
        probability, where = _STATED, "stated on purpose"
    elif written.always is None:
        where = "found by rules"
    else:
        probability, where = max(probability, _ALWAYS) if written.always else probability, "found by a language model"
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
        worth=_worth(min(probability, _MOST_FOUND), clause.created_at, at),
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
