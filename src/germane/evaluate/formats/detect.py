"""Detect: tells the format of a JSON document by its shape, never by its file name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.evaluate.formats.everyday import people
from germane.evaluate.formats.locomo import samples
from germane.evaluate.formats.longmemeval import entries
from germane.evaluate.formats.realtalk import talks

__all__ = ["detect"]


def detect(document: Any) -> str | None:
    """The name of the document's format; None for an unknown one. A single object may be a line of recorded requests."""
    if samples(document):
        return "locomo"
    if entries(document):
        return "longmemeval"
    if talks(document):
        return "realtalk"
    if people(document):
        return "everyday"
    if isinstance(document, Mapping) and ("messages" in document or "question" in document):
        return "requests"
    return None
