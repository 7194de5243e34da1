"""Plans: store, end and correct memories by what was found in messages, within the plan that records the messages.

An extracted memory yields to what was stated on purpose: it ends only facts that were extracted too, and it is never
pinned.

What a statement ends is told by words: those of the memory and those of the statement must be nearly the same, but for what
belongs to the memory's own key. What was stated on purpose stays, beside a conflict for a person to decide, and so do all
of several that may be meant. What ended a memory is a memory too: the statement in its own words, of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from germane.extraction.memories.endings import Ending, Meant, how_meant, opposite
from germane.extraction.memories.extracted import RULES_VERSION, PendingMemories, extracted_memory, is_extracted
from germane.extraction.memories.statements import Correction
from germane.kinds.memories.plans import hash_of, repeats
from germane.kinds.memories.reads import DerivedFrom, EndMemory, MemoriesByHash, MemoriesById, MemoriesWith, PutConflict
from germane.kinds.memories.value import Behavior, Fact, Memory, Preference, written_line
from germane.text.normal import fold
from germane.text.specifics import temporal
from germane.text.terms import query_terms, term_hash
from germane.types.candidate import Provenance, Sensitivity
from germane.types.plan import Read, read
from germane.types.query import Term
from germane.types.scope import Scope


def remember_found(
    found: Sequence[Memory], endings: Sequence[SaidEnding] = (), corrections: Sequence[SaidCorrection] = ()
) -> Generator[Read[Any], Any, PendingMemories]:
    """Decides what new messages change: which of the memories `found` in them are stored, and what the `endings` and
    `corrections` end, in the order in which they were said, each as if those before it were stored already. A memory that says
    what a valid one says only waits behind that one; one about a key of which something was stated on purpose adds nothing.
    Yields the reads; returns what was decided."""
    pending = PendingMemories()
    for _, said in sorted(_in_order(found, endings, corrections), key=lambda one: one[0]):
        match said:
            case SaidEnding():
                yield from end_found(said, pending)
            case SaidCorrection():
                yield from correct_found(said, pending)
            case _:
                yield from _remember(said, pending)
    return pending


def _in_order(
    found: Sequence[Memory], endings: Sequence[SaidEnding], corrections: Sequence[SaidCorrection]
) -> Iterator[tuple[tuple[datetime, int], Memory | SaidEnding | SaidCorrection]]:
    """The statements with what orders them. What a message states comes before what it ends: "I left Globex, I'm at Initech
    now"."""
    yield from (((memory.valid_from, 0), memory) for memory in found)
    yield from (((one.said_at, 1), one) for one in corrections)
    yield from (((one.said_at, 2), one) for one in endings)


def _remember(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    same = yield from read(MemoriesByHash(memory.content_hash, min(memory.valid_from, memory.created_at)))
    twins = [*pending.now(same), *(one for one in pending.new.values() if one.content_hash == memory.content_hash)]
    said = [twin for twin in twins if twin.kind == memory.kind and repeats(memory, twin)]
    if said:
        if all(is_extracted(one) and one.derived_from and not {*one.derived_from} & {*memory.derived_from} for one in said):
            pending.put_behind(memory, said[0])
        return
    if isinstance(memory.content, Fact):
        yield from pending.supersede(memory)
        return
    pending.put((yield from _among_alternatives(memory, pending)))
    yield from end_opposite(memory, pending)


def _among_alternatives(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, Memory]:
    """Of extracted instructions that can't be followed together, such as those of two languages, the later one holds. Ends the
    earlier ones; returns `memory`, which ends where a later one begins."""
    if not isinstance(memory.content, Behavior):
        return memory
    for text in alternatives(memory.text):
        hashed = hash_of(memory.kind, Behavior(text=text))
        stored = yield from read(MemoriesByHash(hashed, memory.valid_from))
        for other in (*pending.now(stored), *(one for one in pending.new.values() if one.content_hash == hashed)):
            if not isinstance(other.content, Behavior) or not is_extracted(other):
                continue
            if other.valid_from < memory.valid_from and other.holds(memory.valid_from):
                pending.end(EndMemory(id=other.id, at=memory.valid_from, superseded_by=memory.id))
            elif memory.valid_from < other.valid_from and (memory.valid_to is None or other.valid_from < memory.valid_to):
                memory = replace(memory, valid_to=other.valid_from, superseded_by=other.id)
    return memory


# Endings.


_CONFIDENCE = 0.7
_MAX_DOUBTS = 3
"""Conflicts that one statement may leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidEnding:
    """An ending with the message that said it: its id, its time, and where it came from. `also` are other messages whose words
    it has."""

    ending: Ending
    source: str
    said_at: datetime
    sensitivity: Sensitivity
    provenance: Provenance
    scope: Scope
    also: tuple[str, ...] = ()

    def as_memory(self, kind: str, key: str = "") -> Memory:
        """The statement as a memory. Raises `InvalidInput` for a text that a memory can't have."""
        found = {"extracted": "ending", "version": RULES_VERSION, "share": self.ending.share}
        memory = extracted_memory(
            self.ending.text,
            kind=kind,
            key=key,
            confidence=_CONFIDENCE,
            sensitivity=self.sensitivity,
            source=self.source,
            said_at=self.said_at,
            provenance=replace(self.provenance, metadata={**found, **self.provenance.metadata}),
            scope=self.scope,
        )
        return replace(memory, derived_from=(self.source, *self.also)) if self.also else memory


def end_found(said: SaidEnding, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    """Ends what the statement ends. Yields the reads."""
    if said.ending.kind == "changed" or not said.ending.terms:
        return
    speaker = said.provenance.speaker
    some = yield from _holding(said.ending.terms, said.said_at, pending)
    meant: dict[Meant, list[Memory]] = {"sure": [], "likely": []}
    for memory in some:
        if said.source in memory.derived_from or memory.provenance.speaker not in ("", speaker):
            continue
        how = how_meant(said.ending, memory, str(speaker))
        if how is not None:
            meant[how].append(memory)
    chosen = meant["sure"] or meant["likely"]
    yield from end_meant(said, chosen, pending, sure=bool(meant["sure"]) or len(chosen) == 1)


def end_meant(
    said: SaidEnding, meant: Sequence[Memory], pending: PendingMemories, *, sure: bool = True
) -> Generator[Read[Any], Any, None]:
    """Ends those of the memories `meant` that were extracted; what was stated on purpose is left to a person to decide, and all
    of them where it isn't `sure` which are meant. Yields the reads."""
    certain = [memory for memory in meant if sure and is_extracted(memory)]
    doubtful = [memory for memory in meant if not (sure and is_extracted(memory))]
    last: Memory | None = None
    for memory in certain:
        last = (yield from _end(said, memory, pending)) or last
        for part in (yield from _parts(memory, said.said_at, pending)):
            yield from _end(said, part, pending)
    if doubtful:
        last = last or _kept(said.as_memory("note"), pending)
        for memory in doubtful[:_MAX_DOUBTS]:
            pending.doubt(PutConflict(older=memory.id, newer=last.id, reason="ended", at=said.said_at))


def end_opposite(memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, None]:
    """Ends what a new preference contradicts: who hates Chinese food loves it no longer. Yields the reads."""
    if not isinstance(memory.content, Preference):
        return
    for other in (yield from _holding(query_terms(memory.text), memory.valid_from, pending)):
        if other.id == memory.id or not opposite(memory.text, other) or set(other.derived_from) & set(memory.derived_from):
            continue
        if is_extracted(other):
            for one in (other, *(yield from _parts(other, memory.valid_from, pending))):
                pending.outdate(one, memory.derived_from[0])
                pending.end(EndMemory(id=one.id, at=memory.valid_from, superseded_by=memory.id))
        else:
            pending.doubt(PutConflict(older=other.id, newer=memory.id, reason="negation", at=memory.valid_from))


def _parts(memory: Memory, at: datetime, pending: PendingMemories) -> Generator[Read[Any], Any, list[Memory]]:
    """The memories that hold at that time and in whose place the memory stands, or one of these: they end with it."""
    parts, ids = dict[str, Memory](), written_line(memory).replaces
    while ids:
        found = yield from read(MemoriesById(ids))
        now = [one for one in pending.now(found.values()) if one.id not in parts and one.id != memory.id and is_extracted(one)]
        parts |= {one.id: one for one in now}
        ids = tuple(id for one in now for id in written_line(one).replaces)
    return [one for one in parts.values() if one.holds(at)]


def _holding(terms: Iterable[Term], at: datetime, pending: PendingMemories) -> Generator[Read[Any], Any, list[Memory]]:
    """The memories that hold at that time and may have one of these terms; new ones are all looked at."""
    hashes = tuple(dict.fromkeys(term_hash(stem) for term in terms for stem in term.stems))
    stored = yield from read(MemoriesWith(hashes, at))
    return [memory for memory in (*pending.now(stored), *pending.new.values()) if memory.holds(at)]


def _end(said: SaidEnding, memory: Memory, pending: PendingMemories) -> Generator[Read[Any], Any, Memory | None]:
    """Ends one memory; returns the memory that ended it."""
    pending.outdate(memory, said.source)
    if isinstance(memory.content, Fact):
        if pending.ended_by(memory, said.source):
            return None
        ending = said.as_memory("fact", memory.content.key)
        return ending if (yield from pending.supersede(ending)) else None
    same = (one for one in pending.new.values() if one.kind == memory.kind and said.source in one.derived_from)
    ending = next((one for one in same if one.text in said.ending.text), None) or _kept(said.as_memory(memory.kind), pending)
    pending.end(EndMemory(id=memory.id, at=said.said_at, superseded_by=ending.id))
    return ending


def _kept(memory: Memory, pending: PendingMemories) -> Memory:
    pending.put(memory)
    return memory


# Corrections. What was wrong was never true: the corrected memory takes its place from its beginning, and the wrong one
# stays, as one that has ended. Only one memory is corrected, and only where the words tell which.


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


# Instructions of which only one can be followed, such as the language of answers. Only whole instructions in a few
# closed forms count. A condition, a second language or any further word makes an instruction another one ("translate
# German to English", "never answer in German").


_LEAD_PATTERN = r"(?P<lead>(?:from now on,? )?(?:please )?(?:always )?)"
_LEADS = ("", "always ", "please always ", "from now on ", "from now on, ", "from now on always ")
_ENGLISH = "english german french spanish italian portuguese dutch polish russian chinese japanese turkish arabic"
_GERMAN = "englisch deutsch französisch spanisch italienisch portugiesisch niederländisch polnisch russisch türkisch"
_FRENCH = "anglais allemand français espagnol italien portugais néerlandais polonais russe chinois turc arabe"
_SPANISH = "inglés alemán francés español italiano portugués neerlandés polaco ruso chino turco árabe"


def _form(pattern: str, listed: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    values = tuple(listed.split())
    return re.compile(pattern.replace("VALUE", f"(?P<value>{'|'.join(values)})")), values


_FORMS = (
    _form(rf"{_LEAD_PATTERN}(?P<act>(?:answer|reply|respond|write|speak|talk)(?: to me)? in )VALUE(?P<rest>)", _ENGLISH),
    _form(rf"{_LEAD_PATTERN}(?P<act>use (?:the )?)VALUE(?P<rest>(?: units| system| measurements)?)", "metric imperial"),
    _form(rf"{_LEAD_PATTERN}(?P<act>(?:use|give temperatures in|show temperatures in) )VALUE(?P<rest>)", "celsius fahrenheit"),
    _form(rf"{_LEAD_PATTERN}(?P<act>(?:use|write in) )VALUE(?P<rest> (?:english|spelling))", "british american"),
    _form(
        r"(?P<lead>)(?P<act>(?:antworte|schreibe?|sprich)(?: mit)?(?: mir)?(?: ab jetzt)?(?: bitte)?(?: immer)? auf )VALUE"
        r"(?P<rest>)",
        _GERMAN,
    ),
    _form(r"(?P<lead>)(?P<act>(?:réponds|répondez|écris|parle)(?:-moi)?(?: toujours)? en )VALUE(?P<rest>)", _FRENCH),
    _form(r"(?P<lead>)(?P<act>(?:responde|contesta|escribe|habla)(?:me)?(?: siempre)? en )VALUE(?P<rest>)", _SPANISH),
)
_MAX_EXCLUSIVE = 80
"""Characters of an instruction in any of the forms."""


def alternatives(text: str) -> tuple[str, ...]:
    """Returns the instructions, in lower case, that can't be followed together with `text`; none where it has no such form."""
    said = " ".join(text[: _MAX_EXCLUSIVE + 1].casefold().split())
    if len(said) > _MAX_EXCLUSIVE:
        return ()
    for form, values in _FORMS:
        if (found := form.fullmatch(said)) is not None:
            leads = dict.fromkeys((found["lead"], *_LEADS)) if form.pattern.startswith(_LEAD_PATTERN) else ("",)
            others = [value for value in values if value != found["value"]]
            return tuple(f"{lead}{found['act']}{value}{found['rest']}" for value in others for lead in leads)
    return ()
