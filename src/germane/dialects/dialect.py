"""Dialect: how one provider writes messages. One file a provider; nothing else in germane knows their shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from germane.dialects.turn import Turn
from germane.types.message import Message, Wire

__all__ = ["Dialect"]


class Dialect(Protocol):
    name: str

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        """Whether this message can only be of this dialect (it holds a part or a field that no other has)."""

    def parse(self, raw: Mapping[str, Any]) -> Message:
        """One message, read. Raises `InvalidInput` naming what is wrong."""

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A message of this dialect as the provider takes it: the same object where it can go out as it is, a copy without
        germane's own keys (`id`, `created_at`, and `name` where the provider has none) and without empty parts otherwise,
        None where it has to be written anew."""

    def render(self, messages: Sequence[Message]) -> Wire:
        """Messages in this provider's shape, valid for it whatever was cut (INJECT-4)."""

    def compose(self, turns: Sequence[Turn], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        """The same for turns that may bring the caller's own dicts, which go out untouched where they can."""

    def problems(self, wire: Wire) -> tuple[str, ...]:
        """What the provider's API would refuse; empty when it is valid."""
