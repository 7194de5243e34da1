"""Answer: what is accepted of a language model's answer about a claim. An answer is data; nothing in it is followed."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput
from germane.events.event import Event
from germane.memories.extraction.extracted import extracted_memory
from germane.memories.llm_extraction.claim import Claim
from germane.memories.llm_extraction.prompt import MAX_MEMORIES, MAX_TEXT, turn_names
from germane.memories.memory import KINDS, Memory
from germane.text.analyse import analyse
from germane.text.language import detect
from germane.text.own.own_words import own_words
from germane.text.secrets.find import find_secrets
from germane.text.secrets.redact import MARKER
from germane.types.candidate import Provenance

__all__ = ["VERSION", "Unusable", "accepted"]

VERSION = 1
"""Of the prompt and the checks, written into each memory's provenance."""
_FIELDS = frozenset({"kind", "key", "text", "sources", "confidence", "sensitive"})
_LEAST, _MOST = 0.3, 0.8
"""Bounds of the confidence, whatever the model says: it guesses, and what a user stated on purpose has 0.8."""
_MAX_KEY = 64
_INSTRUCTIONS = ("behavior", "procedure")
"""Kinds that tell the agent what to do: only the user's own words may."""
_GROUNDED = {"behavior": 0.34, "procedure": 0.34}
"""Share of a memory's words that its messages must hold; of the other kinds at least one word."""


class Unusable(ValueError):
    """An answer as a whole isn't what was asked for. The message quotes nothing of it."""


def accepted(text: str, claim: Claim, *, model: str) -> tuple[list[Memory], int]:
    """Returns the memories that an answer lists about the claim's messages, in the order in which they were said, and how many
    of the list were rejected. Raises `Unusable` where the answer isn't a list of memories at all."""
    entries = _entries(text)
    turns = turn_names(claim)
    memories = list[Memory]()
    for entry in entries:
        memory = _memory(entry, turns, claim, model)
        if memory is not None:
            memories.append(memory)
    return sorted(memories, key=_said), len(entries) - len(memories)


def _entries(text: str) -> Sequence[object]:
    text = text.strip()
    if text.startswith("```"):  # some models fence what they write
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable("the answer isn't JSON") from None
    entries = answer.get("memories") if isinstance(answer, dict) else None
    if not isinstance(entries, list):
        raise Unusable("the answer isn't an object with a list of memories")
    if len(entries) > MAX_MEMORIES:
        raise Unusable(f"the answer lists {len(entries)} memories, more than the {MAX_MEMORIES} asked for")
    return entries


def _memory(entry: object, turns: Mapping[str, Event], claim: Claim, model: str) -> Memory | None:
    """Returns the memory of one entry; None where the entry is rejected."""
    if not isinstance(entry, dict) or not entry.keys() <= _FIELDS:
        return None
    kind, text, names = entry.get("kind"), entry.get("text"), entry.get("sources")
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(text, str) or not isinstance(names, list):
        return None
    text = " ".join(text.split())
    if not 1 <= len(text) <= MAX_TEXT or any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        return None
    if MARKER in text or find_secrets(text):
        return None
    if not names or not all(isinstance(name, str) and name in turns for name in names):
        return None
    sources = sorted({turns[name].id: turns[name] for name in names}.values(), key=_when)
    key = _key(entry.get("key")) if kind == "fact" else ""
    if (kind == "fact" and not key) or not _may_say(kind, sources) or not _grounded(kind, text, sources):
        return None
    try:
        return _made(kind, key, text, sources, entry, claim, model)
    except InvalidInput:  # such as a text or a key that no memory may have
        return None


def _made(
    kind: str, key: str, text: str, sources: Sequence[Event], entry: Mapping[str, Any], claim: Claim, model: str
) -> Memory:
    newest, confidence = sources[-1], entry.get("confidence")
    sure = confidence if isinstance(confidence, int | float) and not isinstance(confidence, bool) else _LEAST
    strict = entry.get("sensitive") is True
    private = any(event.sensitivity == "private" for event in sources)
    metadata: dict[str, Any] = {
        "extracted": "llm",
        "model": model[:100],
        "version": VERSION,
        "share": round(min(1.0, len(text) / max(1, len(newest.text))), 4),
        "message_hash": newest.content_hash,
    }
    if newest.name:
        metadata["speaker"] = newest.name
    memory = extracted_memory(
        text,
        kind=kind,
        key=key,
        confidence=min(_MOST, max(_LEAST, sure)),  # compared before it is a float: no float holds an integer of 400 digits
        sensitivity="sensitive" if strict else "private" if private else "public",
        source=newest.id,
        said_at=min(newest.created_at, newest.recorded_at),
        provenance=Provenance(
            source_kind=newest.provenance.source_kind,
            channel=newest.provenance.channel,
            session=newest.session,
            message_id=newest.message_id,
            refs=tuple(event.id for event in reversed(sources)),
            metadata=metadata,
        ),
        scope=claim.scope,
    )
    return replace(memory, derived_from=tuple(event.id for event in sources))


def _key(value: object) -> str:
    key = "_".join(value.lower().split()) if isinstance(value, str) else ""
    return key if len(key) <= _MAX_KEY and all(char.isalnum() or char in "._-" for char in key) else ""


def _may_say(kind: str, sources: Sequence[Event]) -> bool:
    """Whether these messages may state a memory of this kind: an instruction comes from the user alone, a fact or preference at
    least from the user too."""
    users = [event.role == "user" for event in sources]
    return all(users) if kind in _INSTRUCTIONS else any(users) or kind in ("episode", "note")


def _grounded(kind: str, text: str, sources: Sequence[Event]) -> bool:
    """Whether the messages hold the memory's words, so that the answer is about them and in their language. An instruction's
    words must be the user's own, neither quoted nor pasted."""
    said = "\n".join(own_words(event.text) if kind in _INSTRUCTIONS else event.text for event in sources)
    told = detect(said)
    words, known = set(analyse(text, told)), set(analyse(said, told))
    if not words:  # a value such as "A"
        return text.casefold() in said.casefold()
    return len(words & known) >= max(1, _GROUNDED.get(kind, 0.0) * len(words))


def _when(event: Event) -> tuple[datetime, int]:
    return event.created_at, event.position


def _said(memory: Memory) -> datetime:
    return memory.valid_from
