"""Placement: where in the conversation germane's text stands (INJECT-1, INJECT-2).

`first` puts all text into a system message before all others. `split` puts the stable text there, so that the provider's
prompt cache can reuse the prefix, and the text that changes with the query directly before the human's last words. The text
never stands between a tool call and its result, because a human's turn never does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.dialects.dialect import OutgoingMessage
from germane.types.message import Message, ToolResult
from germane.types.strategy import Placement

__all__ = ["last_human", "place"]


def place(turns: Sequence[OutgoingMessage], stable: str, late: str, placement: Placement) -> tuple[str, list[OutgoingMessage]]:
    """The text that stands first, and the turns with all text placed. Late text joins the stable text if no human turn
    exists."""
    out = list(turns)
    index = last_human([turn.message for turn in turns]) if placement == "split" and late else None
    changing = bool(late) and index is None
    if index is None:
        stable = "\n\n".join(filter(None, (stable, late)))
    else:
        out[index] = replace(out[index], late=late)
    if stable:
        message = Message.of("system", stable)
        changing = changing or placement == "first"
        out.insert(0, OutgoingMessage(message=message, pinned=placement == "split", changing=changing))
    return stable, out


def last_human(messages: Sequence[Message]) -> int | None:
    """Index of the last user message with more than tool results; None if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts):
            return index
    return None
