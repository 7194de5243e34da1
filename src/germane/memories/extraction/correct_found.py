"""Correct found: corrects the extracted memories of what was said just before, within the plan that records the correction.

What was wrong was never true: the corrected memory takes its place from its beginning, and the wrong one stays in the history.
Only one memory is corrected, and only where the words tell which.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from germane.memories.extraction.corrections import Correction
from germane.memories.extraction.extracted import extracted_memory, is_extracted
from germane.memories.extraction.pending_memories import PendingMemories
from germane.memories.memory import Fact, Memory
from germane.memories.operations import DerivedFrom, EndMemory
from germane.text.normal import fold
from germane.text.traits import temporal
from germane.types.plan import Read, read
from germane.types.scope import Scope

__all__ = ["SaidCorrection", "correct_found"]

_DIGIT = re.compile(r"\d")
_SEPARATORS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidCorrection:
    """A correction with the id of the message that made it, and the ids of what it may correct: this message and the user's
    message before it, the nearest first."""

    correction: Correction
    source: str
    about: tuple[str, ...]
    said_at: datetime
    scope: Scope


def correct_found(said: SaidCorrection, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    """Corrects what the correction means. Yields the reads."""
    for source in said.about:
        stored = yield from read(DerivedFrom((source,)))
        some = [*pending.now(stored), *(one for one in pending.new.values() if source in one.derived_from)]
        some = [one for one in some if is_extracted(one) and one.superseded_by is None]
        right = {one.id: text for one in some if (text := _corrected(_value(one), said.correction)) not in ("", _value(one))}
        if len(right) != 1:
            continue
        wrong = next(one for one in some if one.id in right)
        memory = _with_value(wrong, right[wrong.id], said)
        pending.put(memory)
        pending.end(EndMemory(id=wrong.id, at=wrong.valid_from, superseded_by=memory.id))
        pending.outdate(wrong, said.source)
        return


def _value(memory: Memory) -> str:
    if isinstance(memory.content, Fact):
        return memory.content.value if isinstance(memory.content.value, str) else ""
    return memory.text


def _corrected(value: str, correction: Correction) -> str:
    """The value with the right words in place of the wrong ones; empty where it isn't meant."""
    words, new = value.split(), correction.new
    if correction.old:
        old = [fold(word) for word in correction.old.split()]
        folded = [fold(word.strip(".,;:!?")) for word in words]
        places = [place for place in range(len(words) - len(old) + 1) if folded[place : place + len(old)] == old]
        return "" if not places else " ".join((*words[: places[0]], new, *words[places[0] + len(old) :]))
    for alike in (_is_number, _is_time, _is_name):
        if not alike(new):
            continue
        same = [place for place, word in enumerate(words) if alike(word)]
        if len(same) == len(words):
            return new
        return " ".join((*words[: same[0]], new, *words[same[0] + 1 :])) if len(same) == 1 and len(new.split()) == 1 else ""
    return ""


def _is_number(text: str) -> bool:
    return _DIGIT.search(text) is not None


def _is_time(text: str) -> bool:
    return temporal(text.lower()) and not _is_number(text)


def _is_name(text: str) -> bool:
    words = text.split()
    return 0 < len(words) <= 3 and all(word[0].isupper() for word in words) and not _is_time(text)


def _with_value(wrong: Memory, value: str, said: SaidCorrection) -> Memory:
    content, before = wrong.content, _value(wrong)
    key = ""
    if isinstance(content, Fact):
        whose, _, last = content.key.rpartition(".")
        key = f"{whose}.{_slug(value)}" if whose and last == _slug(before) else content.key
    memory = extracted_memory(
        value,
        kind=wrong.kind,
        key=key,
        confidence=wrong.confidence,
        sensitivity=wrong.sensitivity,
        source=said.source,
        said_at=wrong.valid_from,
        provenance=wrong.provenance,
        scope=said.scope,
    )
    sources: Sequence[str] = (*wrong.derived_from, said.source)
    return replace(memory, derived_from=tuple(dict.fromkeys(sources)))


def _slug(text: str) -> str:
    return "-".join(word for word in _SEPARATORS.split(fold(text)) if word)[:60]
