"""Answer: what is accepted of a language model's answer about a claim. An answer is data; nothing in it is followed."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.extraction.llm.grounds import Grounds
from germane.extraction.llm.prompt import (
    MAX_ENDED,
    MAX_MEMORIES,
    MAX_TEXT,
    KnownStatement,
    known_names,
    turn_names,
)
from germane.extraction.llm.queue import Claim
from germane.extraction.memories.endings import Ending
from germane.extraction.memories.extracted import extracted_memory
from germane.extraction.memories.plans import SaidEnding
from germane.extraction.memories.statements import same_keys
from germane.kinds.events.value import Event
from germane.kinds.memories.value import KINDS, Memory, WrittenLine
from germane.text.demands import demands_in
from germane.text.language import detect
from germane.text.own_words.own_words import own_words
from germane.text.secrets.detection import MARKER, find_secrets
from germane.text.terms import analyse
from germane.types.candidate import Provenance

VERSION = 2
"""Of the prompt and the checks, written into each memory's provenance."""
_FIELDS = frozenset({"kind", "key", "text", "sources", "confidence", "sensitive", "always", "replaces"})
_ENDED_FIELDS = frozenset({"known", "text", "sources"})
_MIN_CONFIDENCE, _MAX_CONFIDENCE = 0.3, 0.8
"""Bounds of the confidence, whatever the model says: it guesses, and what a user stated on purpose has 0.8."""
_MAX_KEY = 64
_NO_METADATA: Mapping[str, Any] = MappingProxyType({})
_INSTRUCTIONS = ("behavior", "procedure")
"""Kinds that tell the agent what to do: only the user's own words may."""
_OWN_SHARE = 0.34
"""Share of the words of an instruction, and of an ending, that the user's own words must hold; of other kinds at least one."""


class Unusable(ValueError):
    """An answer as a whole isn't what was asked for. The message quotes nothing of it."""


class EndedKnown(NamedTuple):
    """Known things that no longer hold, and the statement that says so."""

    known: tuple[KnownStatement, ...]
    said: SaidEnding


class Accepted(NamedTuple):
    """What is accepted of an answer, in the order in which it was said, and how many entries were rejected."""

    memories: Sequence[Memory] = ()
    ended: Sequence[EndedKnown] = ()
    rejected: int = 0


def accept_answer(text: str, claim: Claim, *, model: str, known: Sequence[KnownStatement] = ()) -> Accepted:
    """Returns what an answer says of the claim's messages and of what was sent as `known`. Raises `Unusable` where the answer
    isn't a list of memories at all."""
    answer = _parsed(text)
    memories, ended = _entries(answer, "memories", MAX_MEMORIES), _entries(answer, "ended", MAX_ENDED)
    reading = _Reading(claim, turn_names(claim), known_names(known), model, _grounds(claim, known))
    made = [memory for entry in memories if (memory := reading.memory(entry)) is not None]
    endings = [ending for entry in ended if (ending := reading.ending(entry)) is not None]
    return Accepted(
        memories=sorted(made, key=lambda memory: memory.valid_from),
        ended=sorted(endings, key=lambda one: one.said.said_at),
        rejected=len(memories) + len(ended) - len(made) - len(endings),
    )


def _parsed(text: str) -> Mapping[str, Any]:
    text = text.strip()
    if text.startswith("```"):  # some models fence what they write
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise Unusable("the answer isn't JSON") from None
    if not isinstance(answer, dict) or "memories" not in answer:
        raise Unusable("the answer isn't an object with a list of memories")
    return answer


def _entries(answer: Mapping[str, Any], name: str, limit: int) -> Sequence[object]:
    entries = answer.get(name, [])
    if not isinstance(entries, list):
        raise Unusable(f"the answer isn't an object with a list of {name}")
    if len(entries) > limit:
        raise Unusable(f"the answer lists {len(entries)} {name}, more than the {limit} asked for")
    return entries


class _Reading(NamedTuple):
    claim: Claim
    turns: Mapping[str, Event]
    known: Mapping[str, KnownStatement]
    model: str
    grounds: Grounds

    def memory(self, entry: object) -> Memory | None:
        """Returns the memory of one entry; None where the entry is rejected."""
        if not isinstance(entry, dict) or not entry.keys() <= _FIELDS:
            return None
        kind, text, sources = entry.get("kind"), _text(entry.get("text")), self._sources(entry.get("sources"))
        if not isinstance(kind, str) or kind not in KINDS or not text or not sources:
            return None
        key = _key(entry.get("key")) if kind == "fact" else ""
        if (kind == "fact" and not key) or not _may_say(kind, sources) or not _grounded(kind, text, sources):
            return None
        lasts = kind in _INSTRUCTIONS or entry.get("always") is True
        if self.grounds.missing(text, lasts=lasts) or (lasts and self.grounds.reverses(text)):
            return None
        try:
            return self._made(kind, key, text, sources, entry)
        except InvalidInput:  # such as a text or a key that no memory may have
            return None

    def ending(self, entry: object) -> EndedKnown | None:
        """Returns what one entry says to have ended; None where the entry is rejected."""
        if not isinstance(entry, dict) or not entry.keys() <= _ENDED_FIELDS:
            return None
        text, sources, known = _text(entry.get("text")), self._sources(entry.get("sources")), self._known(entry.get("known"))
        if not text or not sources or not known or any(event.role != "user" for event in sources):
            return None
        newest = sources[-1]
        known = [one for one in _said_by(newest, known) if one.said_at <= newest.created_at and one.message != newest.id]
        if not known or not _grounded("behavior", text, sources) or self.grounds.missing(text):
            return None
        said = _grounds_of(sources)
        if any(one.kind in _INSTRUCTIONS and not said.ends(one.text) for one in known) and _permits_are_known(text):
            return None
        ending = SaidEnding(
            ending=Ending(kind="states", text=text, subject=(), object=()),
            source=newest.id,
            said_at=newest.said_at,
            sensitivity=newest.sensitivity,
            provenance=self._provenance(text, sources),
            scope=self.claim.scope,
            also=tuple(event.id for event in sources[:-1]),
        )
        return EndedKnown(tuple(known), ending)

    def _sources(self, names: object) -> list[Event]:
        """The messages of these names, the newest one last; none where one of the names is of no message that was sent."""
        if not isinstance(names, list) or not all(isinstance(name, str) and name in self.turns for name in names):
            return []
        return sorted({self.turns[name].id: self.turns[name] for name in names}.values(), key=_when)

    def _known(self, names: object) -> list[KnownStatement]:
        found = names if isinstance(names, list) else []
        return [self.known[name] for name in dict.fromkeys(one for one in found if isinstance(one, str)) if name in self.known]

    def _replaced(
        self, entry: Mapping[str, Any], kind: str, key: str, text: str, sources: Sequence[Event]
    ) -> tuple[KnownStatement, ...]:
        """The known things in whose place the memory stands: those that the entry names and, for a line, the clauses of its own
        messages. A fact of the same name is none: it is superseded."""
        keys, ids = same_keys(key) if key else (), {event.id for event in sources}
        own = [one for one in self.known.values() if one.message in ids] if entry.get("always") is True else []
        known = _said_by(sources[-1], dict.fromkeys((*self._known(entry.get("replaces")), *own)))
        return tuple(one for one in known if not (one.key and one.key in keys) and one.is_kept_by(text, kind))

    def _provenance(self, text: str, sources: Sequence[Event], metadata: Mapping[str, Any] = _NO_METADATA) -> Provenance:
        *others, newest = sources
        found = {
            "extracted": "llm",
            "model": self.model[:100],
            "version": VERSION,
            "share": round(min(1.0, len(text) / max(1, len(newest.text))), 4),
        }
        return newest.source_of({**found, **metadata}, also=tuple(event.id for event in reversed(others)))

    def _made(self, kind: str, key: str, text: str, sources: Sequence[Event], entry: Mapping[str, Any]) -> Memory:
        newest, confidence, always = sources[-1], entry.get("confidence"), entry.get("always")
        sure = confidence if isinstance(confidence, int | float) and not isinstance(confidence, bool) else _MIN_CONFIDENCE
        replaced = self._replaced(entry, kind, key, text, sources)
        strict = entry.get("sensitive") is True
        private = bool(replaced) or any(event.sensitivity == "private" for event in sources)
        line = WrittenLine(always if isinstance(always, bool) else None, tuple(one.id for one in replaced))
        memory = extracted_memory(
            text,
            kind=kind,
            key=key,
            confidence=min(
                _MAX_CONFIDENCE, max(_MIN_CONFIDENCE, sure)
            ),  # compared before it is a float: no float holds an integer of 400 digits
            sensitivity="sensitive" if strict else "private" if private else "public",
            source=newest.id,
            said_at=max([newest.said_at, *(one.said_at for one in replaced)]),
            provenance=self._provenance(text, sources, line.as_metadata()),
            scope=self.claim.scope,
        )
        made_of = (*(event.id for event in sources), *(one.message or one.id for one in replaced))
        return replace(memory, derived_from=tuple(dict.fromkeys(made_of)))


def _text(value: object) -> str:
    """The text of an entry on one line; empty where none of this kind is taken."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if len(text) > MAX_TEXT or any(unicodedata.category(char) in ("Cc", "Cs") for char in text):
        return ""
    return "" if MARKER in text or find_secrets(text) else text


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
    own = kind in _INSTRUCTIONS
    said = "\n".join(own_words(event.text) if own else event.text for event in sources)
    told = detect(said)
    words, known = set(analyse(text, told)), set(analyse(said, told))
    if not words:  # a value such as "A"
        return text.casefold() in said.casefold()
    return len(words & known) >= max(1, _OWN_SHARE * len(words) if own else 0)


def _grounds(claim: Claim, known: Sequence[KnownStatement]) -> Grounds:
    """What the messages and what is known say; what is known is the user's."""
    grounds = _grounds_of((*claim.before, *claim.turns))
    for one in known:
        grounds.add(one.text, "user")
    return grounds


def _grounds_of(events: Sequence[Event]) -> Grounds:
    users = (event.text for event in events if event.role == "user")
    grounds = Grounds(one for text in users for one in demands_in(text))
    for event in events:
        if event.role in ("user", "assistant"):
            grounds.add(event.text, "user" if event.role == "user" else "assistant")
    return grounds


def _permits_are_known(text: str) -> bool:
    """Whether the words by which somebody takes a restriction back are listed for the language of this text."""
    return detect(text) in (None, "english", "german", "french", "spanish", "italian", "portuguese", "russian")


def _said_by(event: Event, known: Iterable[KnownStatement]) -> list[KnownStatement]:
    """What the message's speaker may take back or say in other words: nobody's words but theirs."""
    return [one for one in known if one.speaker == event.name]


def _when(event: Event) -> tuple[datetime, int]:
    return event.created_at, event.position
