"""Found by LLM: what a reading of a message comes to as findings, which are stored as those of the rules are."""

from __future__ import annotations

from typing import NamedTuple

from germane.graph.extraction.found import FoundEntity
from germane.graph.findings import EntityFinding, EntityName, RelationFinding
from germane.graph.llm_extraction.reading import GraphReading

__all__ = ["LLMFindings", "found_by_llm"]


class LLMFindings(NamedTuple):
    """What `link_findings` is given."""

    entities: tuple[EntityFinding, ...] = ()
    relations: tuple[RelationFinding, ...] = ()


def found_by_llm(reading: GraphReading, *, own: bool) -> LLMFindings:
    """Returns the findings of a reading. Relations count where the text is a user's `own`: an assistant, which repeats and
    guesses, states none. The speaker is an entity where a relation has the speaker at an end."""
    relations = reading.relations if own else ()
    ends = (end for relation in relations for end in (relation.source, relation.target))
    return LLMFindings(
        tuple(_entity(one, reading) for one in dict.fromkeys((*reading.entities, *ends))),
        tuple(
            RelationFinding(source=_name(one.source), type=one.type, target=_name(one.target), confidence=one.confidence)
            for one in relations
        ),
    )


def _entity(one: FoundEntity, reading: GraphReading) -> EntityFinding:
    return EntityFinding(type=one.type, name=one.name, aliases=reading.aliases.get(one, ()), confidence=one.confidence)


def _name(one: FoundEntity) -> EntityName:
    return EntityName(one.type, one.name)
