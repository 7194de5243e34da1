"""Made requests: requests that a store can answer, made from what it holds, in its language; the same each time."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from germane.types.query import Filters

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.kinds.events.value import Event
    from germane.kinds.memories.value import Memory

_MAX_LOOKED_AT, _MAX_READ = 1000, 300
"""Messages and memories that are looked at, and messages in which people are looked for."""
_MAX_REQUESTS = 4
"""Requests besides the last one, which gives thanks."""
_MIN_QUESTION, _MAX_QUESTION = 8, 160
"""Characters of a question that was asked already and is asked again."""
_FACTS = ("home", "employer", "job", "birthday", "diet", "allergy", "favourite", "relationship")
"""Parts of keys of facts, those first that people ask for."""
_MAX_WORD_MESSAGES = 4
"""Messages with one word, beyond which it isn't more telling."""
_OWN = "user"
_THINGS = ("place", "organisation", "tool")
_NOUN = re.compile(
    r"\b(?:the|my|our|der|die|das|den|mein|meine|meinen|le|la|les|mon|ma|mes|el|los|las|mi|mis|il|lo|mio|mia|o|os|meu|minha|de"
    r"|het|mijn) ([^\W\d_]{4,24})\b"
)


class _Text(NamedTuple):
    """Something that the user said, and under which name; or else something that is remembered, and its title."""

    id: str
    text: str
    speaker: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRequest:
    """A request, what kind it is, and where known its answer in words and the ids of the messages or memories that hold it:
    germane's own, or those of the file, of which all are needed or any one is enough. `at` is when it is asked."""

    text: str
    kind: str = ""
    answer: str = ""
    evidence: tuple[str, ...] = ()
    all_needed: bool = False
    at: datetime | None = None


async def requests_of(agent: Agent) -> list[MadeRequest]:
    """Returns at most five requests in the language of the store: facts, a changed value, a person, a day, something to which
    an instruction applies, a question that was asked before, and thanks."""
    everything = Filters(sensitivities=("public", "private"), with_ended=True)
    memories = (await agent.memories.list(everything, limit=_MAX_LOOKED_AT)).memories
    said = (await agent.messages(filters=Filters(), limit=_MAX_LOOKED_AT, whole=False)).messages[::-1]
    own = [one for one in said if one.role == "user"]
    texts = [_Text(one.id, one.text, one.name) for one in own] or [
        _Text(one.id, one.text, title=_title(one)) for one in memories
    ]
    wording = _wording(texts)
    asked = dict[str, MadeRequest]()
    for one in (*_remembered(wording, memories), *_told(wording, texts), *_a_day(wording, own), *_asked_before(said)):
        if one.text not in {other.text for other in asked.values()}:
            asked.setdefault(one.kind, one)
    return [*list(asked.values())[:_MAX_REQUESTS], thanks(wording)]


def thanks(wording: Mapping[str, str] | None = None) -> MadeRequest:
    """The last request, which needs nothing; in English by default."""
    return MadeRequest(text=(wording or _wordings()["english"])["thanks"], kind="thanks")


def _remembered(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """What facts and instructions answer."""
    changed = next(_changed(wording, memories), None)
    taken = changed.text if changed else ""
    yield from (one for one in _facts(wording, memories) if one.text != taken)
    rules = [one for one in memories if one.kind == "behavior" and one.valid_to is None]
    if rules:
        evidence = tuple(id for one in rules for id in _ids(one))
        yield MadeRequest(text=wording["applies"], kind="an instruction that applies", evidence=evidence)
    if changed is not None:
        yield changed


def _told(wording: Mapping[str, str], texts: Sequence[_Text]) -> Iterator[MadeRequest]:
    """What was said of a person, of something else that has a name, or else of what a word stands for."""
    for kind, name in _named(texts):
        holding = tuple(one.id for one in texts if name in one.text or name == one.speaker)
        yield MadeRequest(text=wording["person"].format(name=name), kind=kind, evidence=holding)


def _facts(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """What holds now of the user, by the facts that rules or the caller named so."""
    facts = [(_parts(one), one) for one in memories if one.kind == "fact" and one.valid_to is None]
    for name in _FACTS:
        for parts, one in facts:
            if name in wording and parts[:1] == [_OWN] and name in parts[1:2]:
                asked = wording[name].format(of=" ".join(parts[2:]).replace("-", " "))
                yield MadeRequest(text=asked, kind="a fact, in other words", evidence=_ids(one), answer=_value(one))


def _changed(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """Facts of which an earlier value was superseded, the latest first."""
    known = {one.id: one for one in memories if one.kind == "fact"}
    for one in memories:
        now = known.get(one.superseded_by or "")
        if now is not None and now.valid_to is None:
            parts = _parts(now)
            of = " ".join(parts[1:] if parts[0] == _OWN else parts).replace("-", " ")
            asked = wording[parts[1]] if parts[0] == _OWN and parts[1] in wording and "{" not in wording[parts[1]] else ""
            text = asked or wording["fact"].format(of=of)
            yield MadeRequest(text=text, kind="a value that changed", evidence=_ids(now), answer=_value(now))


def _named(texts: Sequence[_Text]) -> Iterator[tuple[str, str]]:
    """The person and the other name that come most often, the first of several; without other names, a long word that comes
    often behind an article. Each with what it is."""
    from germane.extraction.entities.entities import extract_entities

    people, others, words = Counter[str](), Counter[str](), Counter[str]()
    for one in texts[-_MAX_READ:]:
        found = extract_entities(one.text)
        people.update({each.name for each in found if each.type == "person"} | ({one.speaker} - {""}))
        others.update({each.name for each in found if each.type in _THINGS} | ({one.title} - {""}))
        words.update(set(_NOUN.findall(one.text)))
    for kind, counted in (("a person", people), ("something named", others)):
        for name, _ in counted.most_common(1):
            yield kind, name
    if words and not others:
        yield "a word of yours", max((min(count, _MAX_WORD_MESSAGES), len(word), word) for word, count in words.items())[2]


def _a_day(wording: Mapping[str, str], own: Sequence[Event]) -> Iterator[MadeRequest]:
    """The middle one of the days on which the user said something."""
    days = sorted({one.created_at.date() for one in own})
    if len(days) > 1:
        day = days[(len(days) - 1) // 2]
        evidence = tuple(one.id for one in own if one.created_at.date() == day)
        yield MadeRequest(text=wording["day"].format(day=day.isoformat()), kind="a named day", evidence=evidence)


def _asked_before(said: Sequence[Event]) -> Iterator[MadeRequest]:
    """Questions of the user's that were answered, the last, the first and the middle one of them; each a kind of its own."""
    answered = [
        (one, reply)
        for one, reply in pairwise(said)
        if one.role == "user" and reply.session == one.session and _question(one.text)
    ]
    numbers = dict.fromkeys((len(answered) - 1, 0, (len(answered) - 1) // 2)) if answered else {}
    for count, number in enumerate(numbers):
        asked, reply = answered[number]
        again = ("again", "once more", "a third time")[count]
        kind = f"a question that was asked before, {again}" if count else "a question that was asked before"
        yield MadeRequest(text=_question(asked.text), kind=kind, evidence=(reply.id,))


def _question(text: str) -> str:
    """The question that a message ends with; empty where it ends with none."""
    line = text[-_MAX_QUESTION:].strip()
    if not line.endswith(("?", "？", "؟")):
        return ""
    begins = max(line.rfind(mark, 0, len(line) - 1) for mark in (". ", "! ", "? ", "\n", "。", "！", "？", ": ")) + 1
    asked = line[begins:].strip()
    whole = begins > 0 or len(text) <= _MAX_QUESTION
    return asked if whole and len(asked) >= _MIN_QUESTION and '"' not in asked else ""


def _parts(memory: Memory) -> list[str]:
    return str(getattr(memory.content, "key", "")).split(".")


def _title(memory: Memory) -> str:
    return str(getattr(memory.content, "title", ""))


def _value(memory: Memory) -> str:
    return str(getattr(memory.content, "value", ""))


def _ids(memory: Memory) -> tuple[str, ...]:
    """Its id, and those of the messages that it was found in."""
    return (memory.id, *memory.derived_from)


def _wording(texts: Sequence[_Text]) -> Mapping[str, str]:
    from germane.text.language import detect, of_script

    sample = "\n".join(one.text[:200] for one in texts[-_MAX_READ:])
    known = _wordings()
    wide = Counter(_script(letter) for letter in sample if letter > "\u0400")
    if wide and wide.total() > len(sample) // 4:
        kana = any("\u3040" <= letter <= "\u30ff" for letter in sample)
        script = wide.most_common(1)[0][0]
        found = ("japanese" if kana else "chinese") if script == "han" else of_script(script)
    else:
        found = detect(sample)
    return {**known["english"], **known.get(found or "", {})}


def _script(letter: str) -> str:
    return "han" if "\u3040" <= letter <= "\u9fff" else letter


@cache
def _wordings() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("germane.cli") / "made_requests.toml").read_text(encoding="utf-8"))
