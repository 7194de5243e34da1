"""Request limits: how the tokens of one whole request are shared out, by model (BUILD-3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from germane.errors import InvalidInput
from germane.types.limits import COUNT, NAME, shown, text

__all__ = ["LARGE", "SMALL", "LimitTable", "RequestLimits"]

_SMALL_BELOW = 120_000
"""Tokens of a window below which the limits for small models hold: those for large ones take 100,000 and a safety margin."""
_MEMORY_SHARE, _RESPONSE_SHARE = 0.25, 0.25
"""The most of a window that memory and the answer get, where it is smaller than the limits together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """Tokens of the model, but for `max_messages`. `max_tokens` bounds the window; `memory_tokens` all that germane adds of
    what is stored (directive, blocks, activity, memories and messages that were found); `history_tokens` the conversation, of
    which the running exchange stays whatever it takes; `response_tokens` is kept free for the answer, and is its maximum."""

    max_tokens: int = 200_000
    memory_tokens: int = 12_000
    history_tokens: int = 80_000
    response_tokens: int = 8_000
    max_messages: int = 500

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self)):
            value, minimum = getattr(self, name), 0 if name == "memory_tokens" else 1
            if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= COUNT.maximum:
                raise InvalidInput(f"limits: {name} must be a whole number, {minimum} or more, not {shown(value)}")

    def within(self, window: int, max_output: int) -> RequestLimits:
        """The limits as a model of this window can keep them: never more than it has, and in a small window with room for each
        part."""
        size = min(self.max_tokens, window)
        answer = min(self.response_tokens, max_output) if max_output else self.response_tokens
        if self.memory_tokens + self.history_tokens + answer <= size:
            return replace(self, max_tokens=size, response_tokens=answer)
        return replace(
            self,
            max_tokens=size,
            response_tokens=max(1, min(answer, int(size * _RESPONSE_SHARE))),
            memory_tokens=min(self.memory_tokens, int(size * _MEMORY_SHARE)),
        )


LARGE = RequestLimits()
SMALL = RequestLimits(memory_tokens=6_000, history_tokens=40_000, response_tokens=4_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitTable:
    """The limits by model. `overrides` are by the name of a model or the beginning of its name (`claude`, `gpt-4o`), of which
    the longest counts. `changes` replace single limits for every model."""

    large: RequestLimits = LARGE
    small: RequestLimits = SMALL
    overrides: Mapping[str, RequestLimits] = field(default_factory=dict)
    changes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, limits in self.overrides.items():
            if not text("limits: the name of a model", name, NAME).strip() or not isinstance(limits, RequestLimits):
                raise InvalidInput(f"limits: overrides must map names of models to RequestLimits, not {shown(name)}")
        if strangers := self.changes.keys() - {each.name for each in fields(RequestLimits)}:
            raise InvalidInput(
                f"limits: unknown {shown(min(strangers))}: give {', '.join(e.name for e in fields(RequestLimits))}"
            )
        self._changed(self.large)

    def of(self, names: tuple[str, ...], window: int, max_output: int) -> RequestLimits:
        """The limits of a model by the names it goes by, of this window and maximum output."""
        found = [name for name in self.overrides if any(_is_of(name.lower(), each.lower()) for each in names)]
        base = self.overrides[max(found, key=len)] if found else self.small if window < _SMALL_BELOW else self.large
        return self._changed(base).within(window, max_output)

    def _changed(self, limits: RequestLimits) -> RequestLimits:
        changes: dict[str, Any] = dict(self.changes)
        return replace(limits, **changes) if changes else limits


def _is_of(family: str, model: str) -> bool:
    """Whether the model is of this name, or its name goes on after it with a new word."""
    return model.startswith(family) and not model[len(family) : len(family) + 1].isalnum()
