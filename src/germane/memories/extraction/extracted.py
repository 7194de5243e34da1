"""Extracted: one thing that a rule found in a message: its kind, its text, and the rule; and the memory that is made of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from germane.memories.extraction.corrections import Correction
from germane.memories.extraction.endings import Ending
from germane.memories.extraction.keys import canonical_key
from germane.memories.extraction.restating import RestatingTerm
from germane.memories.memory import Memory
from germane.memories.remember import new_memory
from germane.types.candidate import Provenance, Sensitivity
from germane.types.scope import Scope

__all__ = ["VERSION", "Extracted", "MessageReading", "extracted_memory", "is_extracted"]

VERSION = 1
"""Of the rules, written into each memory's provenance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`kind` is behavior, preference, fact or episode. `text` is the message's own words or, of a fact, its value; `key` is a
    fact's name. `share` is the fraction of the message's characters that the statement takes."""

    kind: str
    text: str
    rule: str
    confidence: float
    key: str = ""
    share: float = 1.0
    condition: bool = False
    """Whether an instruction holds only in some case, such as "when I ask about dates"."""


class MessageReading(NamedTuple):
    """What a message says: what it states, what it ends and corrects, and by which words it may restate something."""

    stated: tuple[Extracted, ...] = ()
    endings: tuple[Ending, ...] = ()
    corrections: tuple[Correction, ...] = ()
    restating: tuple[RestatingTerm, ...] = ()


def is_extracted(memory: Memory) -> bool:
    """Whether rules, or a language model, found the memory in a message."""
    return "extracted" in memory.provenance.metadata


def extracted_memory(
    text: str,
    *,
    kind: str,
    key: str,
    confidence: float,
    sensitivity: Sensitivity,
    source: str,
    said_at: datetime,
    provenance: Provenance,
    scope: Scope,
) -> Memory:
    """Returns the memory of one thing that the message with the id `source` stated at `said_at`. Its times are the message's,
    so that it is as old as what was said; its key is the common one of those that mean the same. Raises `InvalidInput` for a
    text or a key that a memory can't have."""
    given: dict[str, Any] = {"confidence": confidence, "sensitivity": sensitivity}
    if kind == "fact":
        given |= {"key": canonical_key(key), "observed_at": said_at}
    if kind == "episode":
        given |= {"occurred_at": said_at}
    memory = new_memory(
        text, kind=kind, scope=scope, now=said_at, provenance=provenance, given={**given, "valid_from": said_at}
    )
    return replace(memory, derived_from=(source,))
