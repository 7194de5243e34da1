"""Provider messages: reads messages and parts in the providers' shapes, for a surface that imports files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.dialects.held_text import as_result, opaque
from germane.dialects.pieces import MessagePiece, joined
from germane.dialects.registry import dialect
from germane.types.message import Message

__all__ = ["MessagePiece", "as_result", "joined", "opaque", "read_message"]


def read_message(raw: Mapping[str, Any], provider: str) -> Message:
    """Reads a message in the shape of the provider. Raises `InvalidInput` naming what can't be read."""
    return dialect(provider).parse(raw)
