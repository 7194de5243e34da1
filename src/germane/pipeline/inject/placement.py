"""Placement: where in the conversation germane's text stands (INJECT-1, INJECT-2).

`first` puts all text into a system message before all others. `split` puts the stable text there, so that the provider's
prompt cache can reuse the prefix, and the text that changes with the query directly before the human's last words. `append`
does the same, and puts the texts of earlier calls back where they stood, before the human turn that each was injected for
(INJECT-6); for models that take system messages in the middle, behind that turn. The text never stands between a tool call and
its result, because a human's turn never does.
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
    *,
    mid_system: bool = False,
) -> tuple[str, list[OutgoingMessage]]:
    """The text that stands first, and the turns with all text placed; `earlier` holds texts by the index of their turn. Late
    text joins the stable text if no human turn exists. With `mid_system` the texts of `append` are system messages, each right
    behind its turn, as the model takes them there."""
    out = list(turns)
    for index, text in earlier.items():
        out[index] = replace(out[index], late=text)
    newest = last_human([turn.message for turn in turns]) if placement != "first" and late else None
    changing = placement == "first" or (bool(late) and newest is None)
    if newest is None:
        stable = "\n\n".join(filter(None, (stable, late)))
    else:
        out[newest] = replace(out[newest], late=late)
    if placement == "append" and (texts := [index for index, turn in enumerate(out) if turn.late]):
        out[texts[-1]] = replace(out[texts[-1]], late_pinned=True)
        if mid_system:
            out = [message for turn in out for message in _with_system(turn)]
    if stable:
        first = OutgoingMessage(message=Message.of("system", stable), pinned=placement != "first", changing=changing)
        out.insert(0, first)
    return stable, out


def _with_system(turn: OutgoingMessage) -> tuple[OutgoingMessage, ...]:
    """The turn without its late text, and that text as a system message behind it."""
    if not turn.late:
        return (turn,)
    text = OutgoingMessage(message=Message.of("system", turn.late), in_place=True, late_pinned=turn.late_pinned)
    return replace(turn, late="", late_pinned=False), text


def last_human(messages: Sequence[Message]) -> int | None:
    """Index of the last user message with more than tool results; None if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if is_human(messages[index]):
            return index
    return None
