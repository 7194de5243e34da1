"""Extract relations: finds how the entities of one text relate, where a few sure patterns of words say so."""

from __future__ import annotations

from collections.abc import Sequence

from germane.graph.extraction.found import FoundEntity, FoundRelation

__all__ = ["extract_relations"]


def extract_relations(text: str, found: Sequence[FoundEntity], *, speaker: str = "") -> tuple[FoundRelation, ...]:
    return ()
