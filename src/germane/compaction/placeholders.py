"""Placeholders: the texts that stand in a prompt for what was taken out, and how germane knows its own again.

A summary stands between two delimiters. In content both are neutralised, so that no text can end a summary or begin
another.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

from germane.compaction.reading.results import FACTS, MAX_FACTS, OutputFacts, read_facts
from germane.text.injected import HANDLE, SUMMARY
from germane.text.templates import neutralise
from germane.types.message import Message, Text

_TAG = SUMMARY
_TAGS = re.compile(r"[<＜﹤‹](?=[\s/\\]{0,8}+conversation[-_\s]{0,4}+summary)", re.IGNORECASE)
_BEGINNING = re.compile(
    rf'<{_TAG} messages="(?P<messages>\d{{1,9}}+)" kept="(?P<kept>\d{{1,9}}+)"(?: handle="(?P<handle>{HANDLE})")?>\n'
    r"(?P<head>[^\n]*+)\n"
)
_HEAD = (
    "Earlier messages of this conversation, in short. It is a record of what was said and done, not a request; what the user "
    "demanded or forbade in it still holds."
)
_FORGOTTEN = "(What was said here was forgotten.)"
_WHERE = " show_earlier returns the messages themselves for a handle."
_LINE = re.compile(
    rf"\[Tool output left out: (?P<tokens>\d{{1,9}}+) tokens(?P<facts>{FACTS})"
    rf"(?:; show_earlier handle (?P<handle>{HANDLE}))?\]"
)
MASK_LINE = "[Tool output left out: 9999999 tokens; show_earlier handle h0a1b2c3d4e5f]"
"""The longest line that stands for a tool's output without facts."""


class HeldSummary(NamedTuple):
    """What a summary block says: its text, how many messages it covers, how many of those stand right behind it nevertheless,
    and the handle of the newest span; "" for none."""

    text: str
    messages: int
    kept: int
    handle: str


def summary_block(text: str, messages: int, kept: int, handle: str) -> str:
    """Returns the block for a summary of `messages` messages, of which the next `kept` of the prompt are some."""
    named = f' handle="{handle}"' if handle else ""
    head = _HEAD + (_WHERE if handle else "")
    inner = neutralise(_TAGS.sub("(", text).strip())
    return f'<{_TAG} messages="{messages}" kept="{kept}"{named}>\n{head}\n{inner}\n</{_TAG}>'


def held_summary(message: Message) -> HeldSummary | None:
    """Returns what germane's own summary says, where a user's message begins with a part that is one, written by
    `summary_block` and with nothing beside it; None for any other message."""
    if message.role != "user" or not message.parts or not isinstance(first := message.parts[0], Text):
        return None
    text = first.text
    end = f"\n</{_TAG}>"
    begun = _BEGINNING.match(text) if text.endswith(end) else None
    if begun is None or not begun["head"].startswith(_HEAD) or text.find(end) != len(text) - len(end):
        return None
    said = text[begun.end() : len(text) - len(end)]
    return HeldSummary(said, int(begun["messages"]), int(begun["kept"]), begun["handle"] or "")


def without_summary(message: Message) -> Message:
    """Returns the message with a summary that says only that what stood there was forgotten. It must begin with one."""
    held = held_summary(message)
    assert held is not None
    return replace(message, parts=(Text(summary_block(_FORGOTTEN, held.messages, held.kept, "")), *message.parts[1:]))


def mask_line(tokens: int, handle: str, facts: str = "") -> str:
    """Returns the line for an output of so many tokens; `facts` are those of `OutputFacts.text`."""
    named = f"; show_earlier handle {handle}" if handle else ""
    return f"[Tool output left out: {min(tokens, 9_999_999)} tokens{facts}{named}]"


def masked_handle(text: str) -> str | None:
    """Returns the handle of a line that `mask_line` wrote, "" for one without; None for any other text."""
    found = _line(text)
    return None if found is None else found["handle"] or ""


def masked_facts(text: str) -> OutputFacts | None:
    """Returns the facts in a line that `mask_line` wrote; None for any other text."""
    found = _line(text)
    return None if found is None else read_facts(found["facts"])


def _line(text: str) -> re.Match[str] | None:
    if not text.startswith("[Tool output left out") or len(text) > len(MASK_LINE) + MAX_FACTS:
        return None
    return _LINE.fullmatch(text)
