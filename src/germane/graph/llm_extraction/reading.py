"""Reading: what is accepted of a language model's answer about the entities of a text; an answer is data."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from germane.graph.extraction.found import ENTITY_TYPES, FoundEntity, FoundRelation
from germane.graph.llm_extraction.question import MAX_ENTITIES, MAX_RELATIONS, sent_text
from germane.rules.strict_json import strict_json
from germane.text.secrets.find import find_secrets
from germane.text.secrets.redact import MARKER

__all__ = ["GraphReading", "UnusableGraph", "accepted_graph"]

_LEAST, _MOST = 0.3, 0.8
"""Bounds of a confidence, whatever the model says: it guesses."""
_MAX_NAME, _MAX_NAMES, _MAX_QUOTE = 200, 8, 500
_TYPE = re.compile(r"[a-z][a-z0-9]{0,20}(?:_[a-z0-9]{1,20}){0,3}")
_ENTITY, _RELATION = frozenset({"type", "names"}), frozenset({"source", "type", "target", "quote", "confidence"})


class UnusableGraph(ValueError):
    """An answer as a whole isn't what was asked for. The message quotes nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReading:
    """`aliases` has the further names of the entities that the text itself gives more than one. `rejected` counts the entries
    of the answer that weren't accepted."""

    entities: tuple[FoundEntity, ...] = ()
    aliases: Mapping[FoundEntity, tuple[str, ...]] = field(default_factory=dict, hash=False)
    relations: tuple[FoundRelation, ...] = ()
    rejected: int = 0


def accepted_graph(answer: str, text: str, *, speaker: str = "") -> GraphReading:
    """Returns what an answer lists about `text`. Names and quotes must stand in the text that was sent, letter by letter; a
    relation's ends must be listed entities or the speaker, and its quote must name one of them. Raises `UnusableGraph` where
    the answer isn't such an object at all."""
    listed, related = _lists(answer)
    said = sent_text(text)
    named, aliases = dict[str, FoundEntity](), dict[FoundEntity, tuple[str, ...]]()
    rejected = 0
    for entry in listed:
        names = _names(entry, said)
        if not names or names[0] in named:
            rejected += 1
            continue
        start = said.index(names[0])
        entity = FoundEntity(entry["type"], names[0], start, start + len(names[0]), _MOST)
        named |= {name: entity for name in names if name not in named}
        if len(names) > 1:
            aliases[entity] = tuple(names[1:])
    self = FoundEntity("person", speaker.strip(), 0, 0, _MOST) if speaker.strip() else None
    relations = [_relation(entry, said, named, self) for entry in related]
    kept = tuple(dict.fromkeys(relation for relation in relations if relation is not None))
    return GraphReading(
        entities=tuple(dict.fromkeys(named.values())),
        aliases=aliases,
        relations=kept,
        rejected=rejected + sum(relation is None for relation in relations),
    )


def _lists(answer: str) -> tuple[Sequence[dict[str, str]], Sequence[dict[str, object]]]:
    answer = answer.strip()
    if answer.startswith("```"):  # some models fence what they write
        answer = answer.partition("\n")[2].rpartition("```")[0]
    try:
        value = strict_json(answer)
    except (ValueError, RecursionError):
        raise UnusableGraph("the answer isn't JSON") from None
    if not isinstance(value, dict) or value.keys() != {"entities", "relations"}:
        raise UnusableGraph("the answer isn't an object with entities and relations")
    for name, most in (("entities", MAX_ENTITIES), ("relations", MAX_RELATIONS)):
        if not isinstance(value[name], list):
            raise UnusableGraph(f"the answer has no list of {name}")
        if len(value[name]) > most:
            raise UnusableGraph(f"the answer lists {len(value[name])} {name}, more than the {most} asked for")
    return value["entities"], value["relations"]


def _names(entry: object, said: str) -> list[str]:
    """The usable names of one listed entity; none where the entry is rejected."""
    if not isinstance(entry, dict) or entry.keys() != _ENTITY or entry["type"] not in ENTITY_TYPES:
        return []
    names = entry["names"]
    if not isinstance(names, list) or not 1 <= len(names) <= _MAX_NAMES or not all(isinstance(name, str) for name in names):
        return []
    return list(dict.fromkeys(names)) if all(_stands(name, said, _MAX_NAME) for name in names) else []


def _stands(words: str, said: str, most: int) -> bool:
    """Whether these words stand in the text, hold something, and no secret."""
    if not words.strip() or len(words) > most or words not in said or MARKER in words:
        return False
    return not any(unicodedata.category(char) in ("Cc", "Cs") for char in words) and not find_secrets(words)


def _relation(
    entry: Mapping[str, object], said: str, named: Mapping[str, FoundEntity], speaker: FoundEntity | None
) -> FoundRelation | None:
    if not isinstance(entry, dict) or entry.keys() != _RELATION:
        return None
    type, quote, confidence = entry["type"], entry["quote"], entry["confidence"]
    ends = [_end(entry[name], named, speaker) for name in ("source", "target")]
    source, target = ends
    if source is None or target is None or source == target:
        return None
    if not isinstance(type, str) or not _TYPE.fullmatch(type) or not isinstance(quote, str):
        return None
    if not _stands(quote.replace("\n", " "), said.replace("\n", " "), _MAX_QUOTE):
        return None
    if not any(name in quote for name, one in named.items() if one in ends):
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        return None
    return FoundRelation(source, type, target, min(_MOST, max(_LEAST, confidence)))


def _end(name: object, named: Mapping[str, FoundEntity], speaker: FoundEntity | None) -> FoundEntity | None:
    if not isinstance(name, str):
        return None
    return speaker if name == "speaker" else named.get(name)
