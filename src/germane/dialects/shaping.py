"""Shaping: what dialects add to a conversation at most when they write it, in tokens: the user turn that providers want first,
words around calls and results that have lost their other half, ids and names that stand in for missing ones, arguments put
into an object, notes in the place of images. It is counted before anything is packed, so that it never eats into the reserve
(BUD-4).

An upper bound over all dialects, made of counts of short texts alone: nothing long is counted a second time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from germane.catalog.images import price
from germane.catalog.measure import PER_CALL
from germane.catalog.profile import Profile
from germane.dialects.anthropic_check import ID
from germane.dialects.dialect import OutgoingMessage
from germane.dialects.pairing import closed, paired
from germane.dialects.wording import START, closed_call, closed_result, image_note, tool_name
from germane.types.message import Image, Message, Text, ToolCall, ToolResult

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
    if all(type(part) is Text for message in messages for part in message.parts):
        first = next((message for message in messages if message.role != "system"), None)
        return 0 if first is not None and _is_users(first) else profile.per_message + count(START)
    count = _remembered(count)
    total = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, Image):
                total += _noted(part, profile, count)
            elif isinstance(part, ToolCall):
                total += max(0, count(tool_name(part.name)) - count(part.name)) + _in_an_object(part.arguments, count)
    spoken = [message for message in messages if message.role != "system"]
    apart = [message for message in messages if message.role == "system"]
    names = None if any(map(_has_tools, apart)) else _names_to_come(spoken)
    if names is not None:
        total += sum(times * count(tool_name(name)) for name, times in names.items())
        return total if spoken and _is_users(spoken[0]) else total + profile.per_message + count(START)
    written = paired([OutgoingMessage(message=message) for message in spoken], fits=ID.fullmatch)
    total += 0 if written and _is_users(written[0].message) else profile.per_message + count(START)
    after = [turn.message for turn in (*written, *(closed(OutgoingMessage(message=message)) for message in apart))]
    return total + _paired([*spoken, *apart], after, profile, count)


def _names_to_come(spoken: Sequence[Message]) -> Counter[str] | None:
    """Of a conversation whose calls are all answered right after them, each by an id that every provider takes: the names that
    results don't bear and some provider wants, with how often. None for any other conversation."""
    names, seen, at = Counter[str](), set[str](), 0
    while at < len(spoken):
        message = spoken[at]
        at += 1
        calls = message.tool_calls
        if message.tool_results or message.role == "tool" or (calls and message.role != "assistant"):
            return None
        waiting = {call.id: call.name for call in calls}
        if len(waiting) < len(calls) or not seen.isdisjoint(waiting) or not all(map(ID.fullmatch, waiting)):
            return None
        seen.update(waiting)
        while waiting:
            if at == len(spoken) or spoken[at].role != "tool":
                return None
            for part in spoken[at].parts:
                if not isinstance(part, ToolResult) or part.call_id not in waiting:
                    return None
                name = waiting.pop(part.call_id)
                names[name] += part.name != name
            at += 1
    return names


def _remembered(count: Count) -> Count:
    """Names come again and again."""
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        found = known.get(text)
        if found is None:
            found = known[text] = count(text)
        return found

    return counted


def _has_tools(message: Message) -> bool:
    return bool(message.tool_calls or message.tool_results)


def _is_users(message: Message) -> bool:
    """Whether every provider takes it for a turn of the user's, with something in it."""
    said = any(isinstance(part, ToolResult) or (isinstance(part, Text) and part.text.strip()) for part in message.parts)
    return said and message.role in ("user", "tool")


def _paired(before: Sequence[Message], after: Sequence[Message], profile: Profile, count: Count) -> int:
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


def _calls(messages: Sequence[Message]) -> list[ToolCall]:
    return [each for message in messages for each in message.tool_calls]


def _results(messages: Sequence[Message]) -> list[ToolResult]:
    return [each for message in messages for each in message.tool_results]


def _in_an_object(arguments: str, count: Count) -> int:
    """Arguments that are JSON are written with a space behind each separator; others as a string in an object, escaped."""
    if arguments.lstrip()[:1] == "{":
        return sum(arguments.count(sign) - arguments.count(f"{sign} ") for sign in ",:")
    return count(_WRAPPED) + sum(map(arguments.count, _ESCAPED))


def _noted(image: Image, profile: Profile, count: Count) -> int:
    note = image_note(image)
    return max(0, (count(note) if len(note) <= _SHORT else 4 * len(note)) - price(profile.images, image))
