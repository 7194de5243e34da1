"""Placement: where in the conversation germane's text goes (INJECT-1, INJECT-2).

`first`: all of it in a system message before everything else. `split`: what is stable there, so that the provider's prompt
cache keeps the prefix, and what changes with the query right before what the human said last. Never between a tool call and
its result: a turn of the human's stands between neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.dialects.dialect import OutgoingMessage
from germane.types.message import Message, ToolResult
from germane.types.strategy import Placement

__all__ = ["last_human", "place"]


def place(turns: Sequence[OutgoingMessage], stable: str, late: str, placement: Placement) -> tuple[str, list[OutgoingMessage]]:
    """What stands first, and the turns with it. Late text without a human turn to go before joins the stable."""
    out = list(turns)
    at = last_human([turn.message for turn in turns]) if placement == "split" and late else None
    if at is None:
        stable = "\n\n".join(filter(None, (stable, late)))
    else:
        out[at] = replace(out[at], late=late)
    if stable:
        out.insert(0, OutgoingMessage(message=Message.of("system", stable), pinned=placement == "split"))
    return stable, out


def last_human(messages: Sequence[Message]) -> int | None:
    """The last message in which a human says something (a tool's results alone are nobody's words); None without one."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if message.role == "user" and any(not isinstance(part, ToolResult) for part in message.parts):
            return at
    return None
