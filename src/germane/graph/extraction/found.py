"""Found: an entity that a text mentions, and a relation that a text states, with where they stand."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ENTITY_TYPES", "MAX_FOUND", "FoundEntity", "FoundRelation"]

ENTITY_TYPES = ("person", "organisation", "place", "date", "file", "symbol", "url", "error", "tool", "ticket", "commit")
"""The types of entities that the rules find."""
MAX_FOUND = 64
"""Entities, and relations, of one text."""


class FoundEntity(NamedTuple):
    """`name` is `text[start:end]`, without titles and possessive endings; of the text's speaker it is the speaker's name, and
    both are 0. `confidence` is in (0, 1]."""

    type: str
    name: str
    start: int
    end: int
    confidence: float


class FoundRelation(NamedTuple):
    """`since` and `until` are the words of the text that say from when to when it holds; empty where it says nothing.
    `confidence` is in (0, 1]. An `exclusive` relation holds to one target at a time, as `lives_in` does."""

    source: FoundEntity
    type: str
    target: FoundEntity
    confidence: float
    since: str = ""
    until: str = ""
    exclusive: bool = False
