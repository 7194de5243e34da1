"""Detect: which format the data at a path is in, by its shape and never by its name."""

from __future__ import annotations

from typing import Any

from germane.evaluate.formats.locomo import samples

__all__ = ["detect"]


def detect(document: Any) -> str | None:
    """The format of one JSON document; None where it is none of them."""
    if samples(document):
        return "locomo"
    return None
