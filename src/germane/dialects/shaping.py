"""Shaping: what dialects add to a conversation at most when they write it, in tokens: the user turn that providers want first,
words around calls and results that have lost their other half, ids and names that stand in for missing ones, arguments put
into an object, notes in the place of images. It is counted before anything is packed, so that it never eats into the reserve
(BUD-4).

An upper bound over all dialects, made of counts of short texts alone: nothing long is counted a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from germane.catalog.images import price
from germane.catalog.measure import PER_CALL
from germane.catalog.profile import Profile
from germane.dialects.anthropic_check import ID
from germane.dialects.pairing import closed, paired
from germane.dialects.turn import Turn
from germane.dialects.wording import START, closed_call, closed_result, image_note, tool_name
from germane.message import Image, Message, Text, ToolCall, ToolResult

__all__ = ["shaping"]

Count = Callable[[str], int]

_WRAPPED = '{"arguments": ""}'
_ESCAPED = '"\\\n\r\t'
_JOINED = 2
"""Two texts put together may come to this many tokens more than both apart."""
_SHORT = 2_000


def shaping(messages: Sequence[Message], profile: Profile, count: Count) -> int:
    """Tokens beyond what `measure` counts for these messages, at most. 0 for a conversation that begins with the user's words
    and holds nothing but texts."""
    spoken = [Turn(message=message) for message in messages if message.role != "system"]
    apart = [Turn(message=message) for message in messages if message.role == "system"]
    written = paired(spoken, fits=ID.fullmatch)
    total = 0 if written and _is_users(written[0].message) else profile.per_message + count(START)
    for message in messages:
        for part in message.parts:
            if isinstance(part, Image):
                total += _noted(part, profile, count)
            elif isinstance(part, ToolCall):
                total += max(0, count(tool_name(part.name)) - count(part.name)) + _in_an_object(part.arguments, count)
    before, after = [*spoken, *apart], [*written, *map(closed, apart)]
    if len(before) != len(after) or any(one is not other for one, other in zip(before, after, strict=True)):
        total += _paired(before, after, profile, count)
    return total


def _is_users(message: Message) -> bool:
    """Whether every provider takes it for a turn of the user's, with something in it."""
    said = any(isinstance(part, ToolResult) or (isinstance(part, Text) and part.text.strip()) for part in message.parts)
    return said and message.role in ("user", "tool")


def _paired(before: Sequence[Turn], after: Sequence[Turn], profile: Profile, count: Count) -> int:
    """What closing, numbering and naming add."""
    calls, results = _calls(before), _results(before)
    calls_left, results_left = _calls(after), _results(after)
    known, named = {call.id for call in calls}, {result.name for result in results}
    around_call = count(closed_call(ToolCall(id="", name="", arguments=""))) + _JOINED - PER_CALL
    around_result = count(closed_result(ToolResult(call_id="", name="x", text=""))) + _JOINED - PER_CALL
    return (
        max(0, around_call) * (len(calls) - len(calls_left))
        + max(0, around_result) * (len(results) - len(results_left))
        + sum(2 * count(call.id) for call in calls_left if call.id not in known)
        + sum(count(tool_name(result.name)) for result in results_left if result.name not in named)
        + profile.per_message * (len(after) - len(before))
    )


def _calls(turns: Sequence[Turn]) -> list[ToolCall]:
    return [each for turn in turns for each in turn.message.tool_calls]


def _results(turns: Sequence[Turn]) -> list[ToolResult]:
    return [each for turn in turns for each in turn.message.tool_results]


def _in_an_object(arguments: str, count: Count) -> int:
    """Arguments that are JSON are written with a space behind each separator; others as a string in an object, escaped."""
    if arguments.lstrip()[:1] == "{":
        return sum(arguments.count(sign) - arguments.count(f"{sign} ") for sign in ",:")
    return count(_WRAPPED) + sum(map(arguments.count, _ESCAPED))


def _noted(image: Image, profile: Profile, count: Count) -> int:
    note = image_note(image)
    return max(0, (count(note) if len(note) <= _SHORT else 4 * len(note)) - price(profile.images, image))
