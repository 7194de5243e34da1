"""Dialect: how one provider writes messages. One file a provider; nothing else in germane knows their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from germane.message import Message, Wire

__all__ = ["Dialect"]


class Dialect(Protocol):
    name: str

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        """Whether this message can only be of this dialect (it holds a part or a field that no other has)."""

    def parse(self, raw: Mapping[str, Any]) -> Message:
        """One message, read. Raises `InvalidInput` naming what is wrong."""

    def render(self, messages: Sequence[Message]) -> Wire:
        """Messages in this provider's shape, valid for it whatever was cut (INJECT-4)."""

    def problems(self, wire: Wire) -> tuple[str, ...]:
        """What the provider's API would refuse; empty when it is valid."""
