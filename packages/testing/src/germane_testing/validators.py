"""Validators: whether a provider would take a conversation, and whether a compaction has kept what it must (HIST-4, HIST-5).

For tests of applications and of other compactors. The rules are those of `dialects`, which every request of germane's
fulfils, and the compaction rules below.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from germane.dialects.anthropic_check import THINKING
from germane.dialects.dialect import RULES as REQUEST_RULES
from germane.dialects.dialect import Dialect
from germane.dialects.edits import open_calls
from germane.dialects.fields import call_as_text, json_text, mapping, result_as_text
from germane.dialects.gemini import UNSIGNED, signature
from germane.dialects.opaque import bound_to_next, prefix_bound, signed
from germane.dialects.openai_content import KIND
from germane.dialects.registry import dialect, outgoing, parse_all
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult, Wire, system_text

# What a compacted conversation may not have lost of the one that it came from (HIST-1, HIST-5).


COMPACTION_RULES: Mapping[str, str] = MappingProxyType(
    {
        "call-altered": "A call that was kept has the name and the arguments that it had.",
        "last-user-lost": "The user's last words stand in a message of the user's, whole.",
        "open-call-lost": "A call that waits for its result can still be read.",
        "pair-split": "A call and its result are kept together or taken away together.",
        "reasoning-missing": "An item that is sent under the API's id has the reasoning before it that it came of.",
        "signed-altered": "What the provider signed or encrypted is unchanged.",
        "signed-order": "What the provider signed or encrypted stands in its order.",
        "signed-split": "What is bound to what follows it stands before just that.",
        "system-lost": "The system messages that the conversation begins with are there.",
        "thinking-gap": "Thinking is left out from the beginning on; none is left out behind thinking that is kept.",
    }
)
"""The rules by name, as a sentence that a sound compaction fulfils."""

_Found = tuple[str, int | None, str]
_CALL = call_as_text(ToolCall(id="", name="x")).partition("x")[0]
_NOTHING = "text "
"""The likeness of what stands behind an item that nothing came of: blank text, or what the user says."""
_RESULT = result_as_text(ToolResult(call_id="", text="")).partition(":")[0]
"""How a call and a result begin that were closed as text."""


def broken_rules(
    original: Sequence[Mapping[str, Any] | Message], messages: Sequence[Mapping[str, Any]], one: Dialect, system: Any
) -> Iterator[_Found]:
    """Yields rule, index and sentence of what is broken."""
    before = parse_all(original, one.name)
    after = [one.parse(message) for message in messages]
    mid_system = one.name == "anthropic" and any(message.role == "system" for message in after)
    sent = [one.parse(message) for message in _as_sent(original, before, one, mid_system=mid_system)]
    yield from _last_user(before, after)
    yield from _leading_system(before, after, system)
    yield from _open_calls(before, after)
    yield from _pairs(before, sent, after)
    yield from _calls([before, sent], after)
    yield from _signed(before, sent, after)
    yield from _bound([before, sent], after)
    if one.name == "anthropic":
        yield from _gaps(before, sent, after)
    if one.name == "openai-responses":
        yield from _reasoning(before, after)


def _as_sent(
    original: Sequence[Mapping[str, Any] | Message], before: Sequence[Message], one: Dialect, *, mid_system: bool
) -> Sequence[Mapping[str, Any]]:
    """The whole conversation as germane sends it where nothing is taken away: with its orphans closed as text, and to a model
    with `mid_system` with system messages in their places."""
    turns = [outgoing(message, raw, one.name) for raw, message in zip(original, before, strict=True)]
    lead = next((index for index, message in enumerate(before) if message.role != "system"), 0)
    placed = [
        replace(turn, in_place=True) if mid_system and index >= lead and turn.message.role == "system" else turn
        for index, turn in enumerate(turns)
    ]
    return one.compose(placed).messages


def _last_user(before: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    last = next(
        (message for message in reversed(before) if message.role == "user" and (_said(message) or _shown(message))), None
    )
    if last is None or not _said(last):
        return  # a document alone may be written otherwise
    wanted = Counter(_said(last))
    for message in after:
        if message.role in ("user", "tool") and not wanted - Counter(_said(message)):
            return
    yield "last-user-lost", None, f"the user's last words aren't in a message of the user's: {_short(_said(last)[-1])}"


def _said(message: Message) -> list[str]:
    """What the user said or showed in the message: texts that aren't blank, and the addresses of images."""
    said = [valid_unicode(part.text) for part in message.parts if isinstance(part, Text) and part.text.strip()]
    return said + [part.url for part in message.parts if isinstance(part, Image) and part.url]


def _shown(message: Message) -> bool:
    return any(isinstance(part, Opaque) for part in message.parts)


def _leading_system(before: Sequence[Message], after: Sequence[Message], system: Any) -> Iterator[_Found]:
    there = valid_unicode("\n".join([system_text(system), *(message.text for message in after if message.role == "system")]))
    for message in before:
        if message.role != "system":
            return
        for text in (valid_unicode(part.text).strip() for part in message.parts if isinstance(part, Text)):
            if text not in there:
                yield "system-lost", None, f"a leading system message isn't there: {_short(text)}"


def _open_calls(before: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    waiting = open_calls(before)
    if not waiting:
        return
    texts = [part.text for message in after for part in message.parts if isinstance(part, Text)]
    kept = {(_fit(call.name), _plain(call.arguments)) for message in after for call in message.tool_calls}
    for call in waiting:
        written = valid_unicode(call_as_text(call))
        if (_fit(call.name), _plain(call.arguments)) not in kept and not any(written in text for text in texts):
            yield "open-call-lost", None, f"an open call isn't there: {call.name} {call.id!r}"


def _pairs(before: Sequence[Message], sent: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    """A call or a result is closed as text where it has lost its other half. What was so before, or was said, may stay."""
    texts = Counter(_closed(before)) | Counter(_closed(sent))
    heads = Counter(map(_head, texts.elements()))
    for index, message in enumerate(after):
        for text in _closed([message]):
            if not heads[_head(text)]:
                yield "pair-split", index, f"message {index}: a call or a result has lost its other half: {_short(text)}"
            heads[_head(text)] -= 1


def _head(text: str) -> str:
    """How a closed call or result begins, with its tool's name; what the result said may be masked."""
    return text if text.startswith(_CALL) else text.partition(": ")[0]


def _closed(messages: Sequence[Message]) -> list[str]:
    texts = [part.text for message in messages for part in message.parts if isinstance(part, Text)]
    return [text for text in texts if text.startswith((_CALL, _RESULT))]


def _calls(before: Sequence[Sequence[Message]], after: Sequence[Message]) -> Iterator[_Found]:
    """Compares the calls by their ids, as far as each names one call, with what they were and with how germane sends them."""
    times = Counter(call.id for message in before[0] for call in message.tool_calls)
    known: dict[str, set[tuple[str, str]]] = {}
    for call in (call for messages in before for message in messages for call in message.tool_calls):
        if call.id and times[call.id] == 1:
            known.setdefault(call.id, set()).add((_fit(call.name), _plain(call.arguments)))
    for index, message in enumerate(after):
        for call in message.tool_calls:
            if call.id in known and (_fit(call.name), _plain(call.arguments)) not in known[call.id]:
                yield "call-altered", index, f"message {index}: call {call.id!r} isn't what it was"


def _signed(before: Sequence[Message], sent: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    places: dict[str, list[int]] = {}
    for at, part in enumerate(_sealed(before)):
        places.setdefault(part, []).append(at)
    mended = {part for part in _sealed(sent) if part not in places}
    newest = -1
    for index, message in enumerate(after):
        for part in _sealed([message]):
            place = next((each for each in places.get(part, ()) if each > newest), None)
            if place is not None:
                newest = place
            elif part in places:
                yield "signed-order", index, f"message {index}: a signed part isn't in its order: {_short(part)}"
            elif part not in mended:
                yield "signed-altered", index, f"message {index}: a signed part isn't what it was: {_short(part)}"


def _sealed(messages: Sequence[Message]) -> list[str]:
    """The signed parts, each as JSON."""
    return [seal for message in messages for part in message.parts if (seal := _seal(part))]


def _seal(part: Part) -> str:
    if isinstance(part, Opaque) and signed(part):
        return _plain(part.raw)
    if isinstance(part, Text | ToolCall) and part.raw is not None and signature(part.raw) not in (None, "", UNSIGNED):
        return _plain({key: _named(value) if isinstance(part, ToolCall) else value for key, value in part.raw.items()})
    return ""


def _named(value: object) -> object:
    """A function call with its tool's name as it is made to fit."""
    return {**value, "name": _fit(str(value["name"]))} if isinstance(value, dict) and "name" in value else value


def _bound(before: Sequence[Sequence[Message]], after: Sequence[Message]) -> Iterator[_Found]:
    """Compares what stands behind each bound item with what stood there, in the conversation or as germane sends it whole. An
    item that nothing came of is bound to nothing. A call that waits for its result may stand as text, but behind the
    Responses API's reasoning."""
    followers: dict[str, set[str]] = {}
    for messages in before:
        for _, part, following in _followed(messages):
            known = followers.setdefault(_plain(part.raw), set())
            known.add(_likeness(following))
            if isinstance(following, ToolCall) and part.kind != f"{KIND}reasoning":
                known.add(_likeness(Text(valid_unicode(call_as_text(following)))))
    for index, part, following in _followed(after):
        known = followers.get(item := _plain(part.raw), {_NOTHING})
        if _NOTHING not in known and _likeness(following) not in known:
            yield "signed-split", index, f"message {index}: what belongs behind it isn't there: {_short(item)}"


def _followed(messages: Sequence[Message]) -> Iterator[tuple[int, Opaque, Part]]:
    """Yields each bound item with what follows it: within its message, or the next item where an item is a message. What the
    user says never came of it."""
    parts = [
        (index, Text("") if message.role == "user" and isinstance(part, Text) else part)
        for index, message in enumerate(messages)
        for part in message.parts
        if len(message.parts) == 1 or not (isinstance(part, Text) and not part.text.strip())
    ]
    for (index, part), (then, following) in zip(parts, [*parts[1:], (-1, Text(""))], strict=False):
        if isinstance(part, Opaque) and bound_to_next(part) and (index == then or part.kind.startswith(KIND)):
            yield index, part, following


def _likeness(part: Part) -> str:
    """What is the same of a part whatever was mended in it: an id may be new, and an item may stand without one."""
    match part:
        case ToolCall():
            return f"call {_fit(part.name)} {_plain(part.arguments)}"
        case Opaque(raw=raw):
            return _plain({key: value for key, value in raw.items() if key != "id"})
        case Text(text):
            return f"text {text.strip()}"
    return type(part).__name__


def _gaps(before: Sequence[Message], sent: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    """Looks at each message whose call was kept, as the caller gave it: the API joins what stands on either side of a message
    that germane leaves out, and one half may have gone. What isn't sent of the whole conversation isn't missed."""
    kept = Counter(block for message in after for block in _thinking(message))
    whole = {block for message in sent for block in _thinking(message)}
    calls = {(call.id, call.arguments) for message in after for call in message.tool_calls}
    times = Counter((call.id, call.arguments) for message in before for call in message.tool_calls)
    began = False
    for message in before:
        for block in _thinking(message):
            if kept[block]:
                kept[block] -= 1
                began = True
            elif (
                began
                and block in whole
                and any((key := (call.id, call.arguments)) in calls and times[key] == 1 for call in message.tool_calls)
            ):
                yield "thinking-gap", None, f"thinking was left out behind thinking that was kept: {_short(block)}"


def _thinking(message: Message) -> list[str]:
    return [_plain(part.raw) for part in message.parts if isinstance(part, Opaque) and prefix_bound(part)]


def _reasoning(before: Sequence[Message], after: Sequence[Message]) -> Iterator[_Found]:
    needed: dict[str, set[str]] = {}
    for id, reasoning in _reasons(before):
        needed.setdefault(id, set()).add(reasoning)
    for id, reasoning in _reasons(after):
        if id in needed and "" not in needed[id] and reasoning not in needed[id]:
            missed = " or ".join(map(repr, sorted(needed[id])))
            yield "reasoning-missing", None, f"item {id!r} stands without its reasoning {missed}"


def _reasons(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yields the id of each of the model's items with that of the reasoning that it came of, "" for none."""
    reasoning = ""
    for message in messages:
        opaque = next((part for part in message.parts if isinstance(part, Opaque)), None)
        if opaque is not None and opaque.kind == f"{KIND}reasoning":
            reasoning = str(opaque.raw.get("id") or "")
        elif message.role != "assistant":
            reasoning = ""
        elif message.id:
            yield message.id, reasoning


def _fit(name: str) -> str:
    """What is the same of a tool's name however it was made to fit."""
    return "".join(char if char.isalnum() and char.isascii() else "_" for char in name).lstrip("_")[:60] or "tool"


def _plain(value: object) -> str:
    """The value as JSON that is the same however it was spaced, its keys ordered, and what JSON has no number for written."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return str(value)
    written = json.dumps(value, sort_keys=True, ensure_ascii=True, default=repr)
    for name in ("NaN", "Infinity", "-Infinity"):
        written = written.replace(f'"{name}"', name)
    return written


def _short(text: str) -> str:
    return json_text(text[:60])


_THINKING_FIRST = "thinking-first"
_MESSAGE_TYPE = "message-type"
RULES: Mapping[str, str] = {
    **REQUEST_RULES,
    **COMPACTION_RULES,
    _MESSAGE_TYPE: "Each message is a dict.",
    _THINKING_FIRST: "With extended thinking, the current turn's first message of the assistant's begins with thinking.",
}
"""All rules, by name, as a sentence that a valid conversation fulfils."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that is broken, a key of `RULES`. `index` is the message's, None where it is the whole conversation's. `message`
    says what is wrong."""

    rule: str
    index: int | None
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


def validate(
    messages: Sequence[Mapping[str, Any]], provider: str, *, system: Any = None, thinking: bool = False
) -> tuple[Violation, ...]:
    """Returns why the provider's API would refuse the messages; empty where it takes them. `provider` is `openai`, `anthropic`,
    `gemini` or `openai-responses`. `system` is the system prompt that stands apart, as that API takes it.

    `thinking` says that the request asks for Anthropic's extended thinking with a budget, which demands that the current turn
    begins with thinking where it has called a tool. Raises `UnknownName` for another provider."""
    one = dialect(provider)
    read = [mapping(message) for message in messages]
    if None in read:
        index = read.index(None)
        text = f"message {index} is {type(messages[index]).__name__}"
        return (Violation(rule=_MESSAGE_TYPE, index=index, message=text),)
    wire = Wire(messages=[dict(message) for message in read if message is not None], system=system)
    found = [Violation(rule=fault.rule, index=fault.index, message=fault.text) for fault in one.faults(wire)]
    return (*found, *(_thinking_first(wire.messages) if thinking and provider == "anthropic" else ()))


def validate_against(
    original: Sequence[Mapping[str, Any] | Message],
    messages: Sequence[Mapping[str, Any]],
    provider: str,
    *,
    system: Any = None,
) -> tuple[Violation, ...]:
    """Returns what `messages`, a compaction of `original`, has lost or changed that it must not: the user's last words, leading
    system messages, open calls, a call or its result without the other, and anything that the provider signed. Whether the API
    takes them is `validate`'s. Raises `InvalidInput` for messages that can't be read, `UnknownName` for another provider."""
    found = broken_rules(original, messages, dialect(provider), system)
    return tuple(Violation(rule=rule, index=index, message=text) for rule, index, text in found)


def _thinking_first(messages: Sequence[Mapping[str, Any]]) -> Iterator[Violation]:
    first: int | None = None
    called = False
    for index in range(len(messages) - 1, -1, -1):
        blocks = _blocks(messages[index])
        if messages[index].get("role") == "assistant":
            first = index
            called = called or any(block.get("type") == "tool_use" for block in blocks)
        elif any(block.get("type") != "tool_result" for block in blocks):
            break
    if first is not None and called:
        kind = next((block.get("type") for block in _blocks(messages[first])), None)
        if kind not in THINKING:
            text = f"message {first}: the turn that called a tool begins with {kind}, not with thinking"
            yield Violation(rule=_THINKING_FIRST, index=first, message=text)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [mapping(block) or {} for block in content] if isinstance(content, list | tuple) else []
