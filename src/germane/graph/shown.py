"""Shown: hashes of what a prompt shows of an entity, a relation or a pattern, to tell whether it changed since (INJECT-6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from germane.text.normal import content_hash

__all__ = ["entity_hash", "pattern_hash", "relation_hash"]


def entity_hash(type: str, name: str, properties: Mapping[str, Any]) -> int:
    """Returns a signed 64-bit hash; salience and mentions don't count."""
    return content_hash("entity", type, name, json.dumps(properties, sort_keys=True, default=str))


def relation_hash(source: str, type: str, target: str, ends: datetime | None) -> int:
    """Returns a signed 64-bit hash of the names of both entities, the type and the end; weight and confidence don't count."""
    return content_hash("relation", source, type, target, "" if ends is None else str(int(ends.timestamp() * 1_000_000)))


def pattern_hash(action: str) -> int:
    """Returns a signed 64-bit hash of the action; how often it worked doesn't count, so that a shown pattern may stay."""
    return content_hash("pattern", action)
