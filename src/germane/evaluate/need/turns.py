"""Turns: `TurnWithoutNeed`, turns of chats in ten languages that nothing stored helps with, in two halves.

Half `fit` serves to fit the probability of need, and half `report` only to report on it. Both have every kind of turn in every
language, from thanks to pasted logs. `turns.jsonl` holds them, one JSON object a line.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

__all__ = ["Half", "TurnWithoutNeed", "turns"]

Half = Literal["fit", "report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWithoutNeed:
    """A turn that a model answers as well without any memory."""

    id: int
    language: str
    """ISO 639-1."""
    kind: str
    """Such as `thanks`, `knowledge` or `code`."""
    half: Half
    text: str
    after: str = ""
    """The assistant's message that the turn follows; empty for a turn that makes sense alone."""

    @property
    def messages(self) -> list[dict[str, str]]:
        """The request that the turn is, in OpenAI's shape."""
        before = [{"role": "assistant", "content": self.after}] if self.after else []
        return [*before, {"role": "user", "content": self.text}]


@cache
def turns(half: Half) -> tuple[TurnWithoutNeed, ...]:
    """Returns the turns of one half, by language and kind."""
    lines = files("germane.evaluate.need").joinpath("turns.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(turn for turn in (TurnWithoutNeed(**json.loads(line)) for line in lines) if turn.half == half)
