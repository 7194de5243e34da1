"""Placement: where in the conversation germane's text stands (INJECT-1, INJECT-2, INJECT-9).

`first` puts all text into a system message before all others. `split` puts the stable text there, so that the provider's
prompt cache can reuse the prefix, and the text that changes with the query, in the user's role, directly before the human's
last words. `append` does the same, and puts the texts of earlier calls back where they stood, before the human turn that each
was injected for (INJECT-6). The text never stands between a tool call and its result, because a human's turn never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from germane.dialects.dialect import OutgoingMessage
from germane.types.message import Message, is_human
from germane.types.strategy import Placement

__all__ = ["NOTHING_EARLIER", "last_human", "place"]

NOTHING_EARLIER: Mapping[int, str] = MappingProxyType({})


def place(
    turns: Sequence[OutgoingMessage],
    stable: str,
    late: str,
    placement: Placement,
    earlier: Mapping[int, str] = NOTHING_EARLIER,
) -> tuple[str, list[OutgoingMessage]]:
    """The text that stands first, and the turns with all text placed; `earlier` holds texts by the index of their turn. Where
    no human turn exists, late text is a user's message of its own, behind the system messages at the start; with `first` it
    joins the stable text."""
    out = list(turns)
    for index, text in earlier.items():
        out[index] = replace(out[index], late=text)
    if placement == "first":
        stable = "\n\n".join(filter(None, (stable, late)))
    elif late and (newest := last_human([turn.message for turn in turns])) is not None:
        out[newest] = replace(out[newest], late=late)
    elif late:
        lead = next((index for index, turn in enumerate(turns) if turn.message.role != "system"), len(turns))
        out.insert(lead, OutgoingMessage(message=Message.of("user", late)))
    if placement == "append" and (texts := [index for index, turn in enumerate(out) if turn.late]):
        out[texts[-1]] = replace(out[texts[-1]], late_pinned=True)
    if stable:
        alone = placement == "first"
        out.insert(0, OutgoingMessage(message=Message.of("system", stable), pinned=not alone, changing=alone))
    return stable, out


def last_human(messages: Sequence[Message]) -> int | None:
    """Index of the last user message with more than tool results; None if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if is_human(messages[index]):
            return index
    return None
