"""Shaping: an upper bound of the tokens that any dialect adds when it writes a conversation (BUD-4).

Dialects add the user's message that some providers require first, words around orphaned calls and results, new ids and names in
place of missing ones, arguments wrapped in an object, and notes in place of images. The bound is part of the budget before
anything is packed, so that shaping never uses up the reserve. It only counts short texts: no long text is counted twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from germane.catalog.images import price
from germane.catalog.measure_budget import PER_CALL
from germane.catalog.profile import Profile
from germane.dialects.anthropic_check import ID
from germane.dialects.dialect import OutgoingMessage
from germane.dialects.pairing import close_orphans, join_calls, pair_calls
from germane.dialects.wording import START, call_as_text, image_note, result_as_text, tool_name
from germane.types.message import Image, Message, Text, ToolCall, ToolResult

__all__ = ["shaping"]

Count = Callable[[str], int]

_WRAPPED = '{"arguments": ""}'
_ESCAPED = '"\\\n\r\t'
_JOINED = 2
"""Tokens that two joined texts may cost beyond the sum of both."""
_SHORT = 2_000
"""Characters up to which a note is counted; a longer one is taken at four tokens a character."""


def shaping(messages: Sequence[Message], profile: Profile, count: Count) -> int:
    """Returns an upper bound of the tokens that writing adds to what `measure` counts for these messages. It is 0 for a
    conversation of texts only that begins with the user."""
    if all(type(part) is Text for message in messages for part in message.parts):
        first = next((message for message in messages if message.role != "system"), None)
        return 0 if first is not None and _is_user_turn(first) else profile.per_message + count(START)
    count = _cached(count)
    total = 0
    for message in messages:
        for part in message.parts:
            if isinstance(part, Image):
                total += _note_tokens(part, profile, count)
            elif isinstance(part, ToolCall):
                total += max(0, count(tool_name(part.name)) - count(part.name)) + _in_an_object(part.arguments, count)
    spoken = [message for message in messages if message.role != "system"]
    apart = [message for message in messages if message.role == "system"]
    names = None if any(map(_has_tools, apart)) else _missing_names(spoken)
    if names is not None:
        total += sum(times * count(tool_name(name)) for name, times in names.items())
        return total if spoken and _is_user_turn(spoken[0]) else total + profile.per_message + count(START)
    joined = join_calls([OutgoingMessage(message=message) for message in spoken])
    written = pair_calls(joined, fits=ID.fullmatch)
    spoken = [turn.message for turn in joined]
    total += 0 if written and _is_user_turn(written[0].message) else profile.per_message + count(START)
    after = [turn.message for turn in (*written, *(close_orphans(OutgoingMessage(message=message)) for message in apart))]
    return total + _paired([*spoken, *apart], after, profile, count)


def _missing_names(spoken: Sequence[Message]) -> Counter[str] | None:
    """Returns the names that must be added to results, with how often each. Returns None for a conversation that needs more
    than names: unless each call is answered right after it, under an id that every provider accepts."""
    names, seen, index = Counter[str](), set[str](), 0
    while index < len(spoken):
        message = spoken[index]
        index += 1
        calls = message.tool_calls
        if message.tool_results or message.role == "tool" or (calls and message.role != "assistant"):
            return None
        waiting = {call.id: call.name for call in calls}
        if len(waiting) < len(calls) or not seen.isdisjoint(waiting) or not all(map(ID.fullmatch, waiting)):
            return None
        seen.update(waiting)
        while waiting:
            if index == len(spoken) or spoken[index].role != "tool":
                return None
            for part in spoken[index].parts:
                if not isinstance(part, ToolResult) or part.call_id not in waiting:
                    return None
                name = waiting.pop(part.call_id)
                names[name] += part.name != name
            index += 1
    return names


def _cached(count: Count) -> Count:
    """Returns `count` with a cache: the same names occur again and again."""
    known: dict[str, int] = {}

    def counted(text: str) -> int:
        tokens = known.get(text)
        if tokens is None:
            tokens = known[text] = count(text)
        return tokens

    return counted


def _has_tools(message: Message) -> bool:
    return bool(message.tool_calls or message.tool_results)


def _is_user_turn(message: Message) -> bool:
    """Returns whether every provider takes the message for a non-empty one of the user's."""
    said = any(isinstance(part, ToolResult) or (isinstance(part, Text) and part.text.strip()) for part in message.parts)
    return said and message.role in ("user", "tool")


def _paired(before: Sequence[Message], after: Sequence[Message], profile: Profile, count: Count) -> int:
    """Returns an upper bound of what pairing adds: the words around orphans, new ids, names, and split messages."""
    calls, results = _calls(before), _results(before)
    calls_left, results_left = _calls(after), _results(after)
    known, named = {call.id for call in calls}, {result.name for result in results}
    around_call = count(call_as_text(ToolCall(id="", name="", arguments=""))) + _JOINED - PER_CALL
    around_result = count(result_as_text(ToolResult(call_id="", name="x", text=""))) + _JOINED - PER_CALL
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
    """Returns an upper bound of what writing arguments as an object adds: JSON gets a space after each separator, other text is
    wrapped in an object and escaped."""
    if arguments.lstrip()[:1] == "{":
        return sum(arguments.count(sign) - arguments.count(f"{sign} ") for sign in ",:")
    return count(_WRAPPED) + sum(map(arguments.count, _ESCAPED))


def _note_tokens(image: Image, profile: Profile, count: Count) -> int:
    note = image_note(image)
    return max(0, (count(note) if len(note) <= _SHORT else 4 * len(note)) - price(profile.images, image))
