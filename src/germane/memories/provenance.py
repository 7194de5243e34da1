"""Provenance: what a caller says of where a memory came from, made sure of before it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from germane.errors import InvalidInput
from germane.memories.checks import json_value
from germane.types.candidate import Provenance, SourceKind
from germane.types.limits import ID, NAME, REFERENCES, entries, shown, text

__all__ = ["source"]

_KINDS = get_args(SourceKind)


def source(given: object) -> Provenance:
    """The provenance with its references as a tuple and its metadata as JSON brings it back. Raises `InvalidInput`."""
    if not isinstance(given, Provenance):
        raise InvalidInput(f"provenance must be a Provenance, not {type(given).__name__}")
    if given.source_kind not in _KINDS:
        raise InvalidInput(f"provenance: source_kind {shown(given.source_kind)} is none of {', '.join(_KINDS)}")
    for name, limit in (("channel", NAME), ("session", ID), ("message_id", ID), ("tool_call_id", ID)):
        if (value := getattr(given, name)) is not None:
            text(f"provenance: {name}", value, limit)
    if not isinstance(given.metadata, Mapping):
        raise InvalidInput(f"provenance: metadata must be a dict, not {type(given.metadata).__name__}")
    metadata = json_value("provenance: metadata", dict(given.metadata)) if given.metadata else {}
    return replace(given, refs=entries("provenance: refs", given.refs, REFERENCES, ID), metadata=metadata)
