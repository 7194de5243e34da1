"""Entities sample: 300 messages written for the project, with the entities that they name, in two halves.

Half `dev` served to write the rules; half `report` was written before them and only serves to report on them. `entities.jsonl`
holds one message a line, its text with marks: `⟪p:Caro|caroline⟫` is a person, written "Caro", who is the same thing as all
other mentions marked `caroline` in its group. Without such a mark, a mention is what other mentions of its name and type are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

__all__ = ["Half", "LabelledMention", "LabelledMessage", "sample"]

Half = Literal["dev", "report"]
_TYPES = {
    "p": "person", "o": "organisation", "l": "place", "d": "date", "f": "file", "s": "symbol", "u": "url", "e": "error",
    "t": "tool", "k": "ticket", "c": "commit",
}  # fmt: skip
_MARK = re.compile(r"⟪([a-z]):([^⟪⟫|]+)(?:\|([^⟪⟫|]+))?⟫")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledMention:
    """`thing` says which mentions of a group are the same; empty where the name does."""

    type: str
    name: str
    start: int
    thing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledMessage:
    """A message, and every entity that it names, in the order of the text."""

    id: int
    half: Half
    language: str
    """ISO 639-1."""
    kind: str
    """`chat`, `support`, `coding` or `research`."""
    text: str
    mentions: tuple[LabelledMention, ...]
    group: str = ""
    """Messages of one group are one conversation; a message without a group stands alone."""
    speaker: str = ""


@cache
def sample(half: Half) -> tuple[LabelledMessage, ...]:
    """Returns the messages of one half, in their order."""
    lines = Path(__file__).with_name("entities.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return tuple(_message(**row) for row in rows if row["half"] == half)


def _message(text: str, **fields: str) -> LabelledMessage:
    mentions, plain, end = list[LabelledMention](), "", 0
    for mark in _MARK.finditer(text):
        plain += text[end : mark.start()]
        mentions.append(LabelledMention(type=_TYPES[mark[1]], name=mark[2], start=len(plain), thing=mark[3] or ""))
        plain += mark[2]
        end = mark.end()
    return LabelledMessage(text=plain + text[end:], mentions=tuple(mentions), **fields)  # type: ignore[arg-type]
