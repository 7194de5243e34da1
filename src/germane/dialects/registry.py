"""Registry: finds the dialect of a provider or a message, and parses messages of any dialect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from germane.catalog.media_tokens import image_tokens
from germane.catalog.profiles import Profile
from germane.catalog.request_tokens import PER_CALL
from germane.dialects.anthropic import Anthropic
from germane.dialects.anthropic_check import BREAKPOINTS, ID, breakpoints
from germane.dialects.dialect import Dialect, OutgoingMessage
from germane.dialects.fields import START, call_as_text, image_note, mapping, result_as_text, tool_name, type_name
from germane.dialects.gemini import Gemini
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.pairing import close_orphans, join_calls, pair_calls
from germane.errors import InvalidInput, Phrase, UnknownName, quoted
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Text, ToolCall, ToolResult, Wire, leading_system, system_text

DIALECTS: tuple[Dialect, ...] = (OpenAIChat(), Anthropic(), Gemini(), OpenAIResponses())


def dialect(name: str) -> Dialect:
    """Returns the dialect called `name`. Raises `UnknownName` listing the names."""
    for each in DIALECTS:
        if each.name == name:
            return each
    raise UnknownName("{} is unknown", name, path="provider", advice=f"give one of {', '.join(each.name for each in DIALECTS)}")


def dialect_of(raw: Mapping[str, Any], prefer: str) -> Dialect:
    """Returns the dialect of a message: one to which only it can belong, else the preferred one. What no dialect knows is so
    the preferred one's, such as a part that a gateway takes, and an item of a later version of the Responses API."""
    preferred = dialect(prefer)
    item = preferred.name == OpenAIResponses.name and "role" not in raw and isinstance(raw.get("type"), str)
    if item or preferred.speaks(raw):
        return preferred
    return next((each for each in DIALECTS if each is not preferred and each.speaks(raw)), preferred)


def outgoing(message: Message, raw: Mapping[str, Any] | Message, provider: str) -> OutgoingMessage:
    """Returns the message as one to send, with its own dict if that is in the shape of `provider`."""
    if provider == OpenAIChat.name and isinstance(raw, dict) and is_plain(raw):
        return OutgoingMessage(message=message, native=raw)
    fields = None if isinstance(raw, Message) else mapping(raw)
    if fields is None or (shape := dialect_of(fields, provider)).name != provider:
        return OutgoingMessage(message=message)
    return OutgoingMessage(message=message, native=shape.native(fields))


def parse(raw: Mapping[str, Any] | Message, prefer: str = "openai") -> Message:
    """Reads one message; returns a `Message` unchanged. Raises `InvalidInput` naming what can't be read."""
    if isinstance(raw, Message):
        return raw
    fields = mapping(raw)
    if fields is None:
        raise InvalidInput(f"message is {type_name(raw)}", advice="give a mapping with role and content, or a germane Message")
    return dialect_of(fields, prefer).parse(fields)


def parse_all(raws: Iterable[Mapping[str, Any] | Message], prefer: str = "openai", *, first: int = 0) -> tuple[Message, ...]:
    """Reads all messages. Raises `InvalidInput` with the index of the message that can't be read, counted from `first`."""
    dialect(prefer)
    if isinstance(raws, str | bytes | Mapping) or not isinstance(raws, Iterable):
        raise InvalidInput(f"is {type_name(raws)}", path="messages", advice="give a list of messages")
    messages: list[Message] = []
    for index, raw in enumerate(raws, first):
        try:
            messages.append(plain_message(raw) if isinstance(raw, dict) and is_plain(raw) else parse(raw, prefer))
        except InvalidInput as error:
            raise error.within(f"messages[{index}]") from None
    return tuple(messages)


# A fast path for messages that are a dict of role and text only, as most are. Every dialect reads such dicts alike, and
# OpenAI's sends them unchanged, so thousands of them needn't be parsed and written one by one.


_OWN_KEYS = ("id", "created_at")
_ROLES = ("system", "user", "assistant")


def is_plain(raw: object) -> bool:
    """Returns whether `raw` is a dict of exactly a role that all dialects know and a text."""
    return type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and raw.get("role") in _ROLES


def plain_message(raw: dict[str, Any]) -> Message:
    """Reads a plain dict."""
    text = raw["content"]
    return Message(role=raw["role"], parts=(Text(text),) if text else ())


def plain_to_send(raws: Iterable[object], provider: str) -> list[dict[str, Any]] | None:
    """Returns the messages to send, if all of `raws` are plain apart from germane's own keys (`id`, `created_at`) and the
    provider accepts them so: the same dicts, or copies without these keys. None where the dialect must write them."""
    if provider != OpenAIChat.name:
        return None
    out: list[dict[str, Any]] = []
    for raw in raws:
        if type(raw) is not dict:
            return None
        if not is_plain(raw):
            raw = {key: value for key, value in raw.items() if key not in _OWN_KEYS}
            if not is_plain(raw):
                return None
        out.append(raw)
    return out


# Request: a whole request as the keyword arguments of a provider's SDK, and the caller's system prompt. Anthropic's
# prompt cache needs marks: one after the first system part, one after the tools and one after the conversation so far
# are set where the request has room for them. The other providers cache the prefix by themselves.


CachePlace = Literal["tools", "instructions", "history"]

_CACHE_MARK = {"cache_control": {"type": "ephemeral"}}
_LONG_CACHE_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
_OPENAIS = ("gpt-", "o1", "o3", "o4", "chatgpt", "codex")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestBody:
    """`kwargs` are those of the SDK's call; `system` is the system prompt as the provider takes it, None where there is none;
    `marked` are the places where a cache mark stands that this request added or found."""

    kwargs: dict[str, Any]
    system: str | list[dict[str, Any]] | None
    messages: list[Mapping[str, Any] | Message]
    tools: list[Mapping[str, Any]]
    marked: tuple[CachePlace, ...] = ()


def body_of(
    provider: str,
    *,
    model: str,
    wire: Wire,
    system: Sequence[str],
    tools: Sequence[Mapping[str, Any]],
    max_output: int,
) -> RequestBody:
    """Returns the request. `system` are the system parts, of which the first is the stable one; empty ones are left out. `wire`
    is the conversation in the provider's shape, with a system text of its own, which comes last."""
    parts = [valid_unicode(part) for part in system if part.strip()]
    given = [dict(tool) for tool in tools]
    match provider:
        case "anthropic":
            return _anthropic(model, wire, parts, bool(system and system[0].strip()), given, max_output)
        case "gemini":
            return _gemini(model, wire, parts, given, max_output)
        case "openai-responses":
            text = "\n\n".join(filter(None, (*parts, system_text(wire.system) if wire.system is not None else "")))
            named = {"instructions": text} if text else {}
            kwargs = {"model": model, **named, "input": wire.messages, **_some(tools=given), "max_output_tokens": max_output}
            return RequestBody(kwargs=kwargs, system=text or None, messages=list(wire.messages), tools=[*given])
    joined = "\n\n".join(parts)
    messages: list[Any] = [*([{"role": "system", "content": joined}] if joined else []), *wire.messages]
    limit = "max_completion_tokens" if model.lower().rpartition("/")[2].startswith(_OPENAIS) else "max_tokens"
    kwargs = {"model": model, "messages": messages, **_some(tools=given), limit: max_output}
    return RequestBody(kwargs=kwargs, system=joined or None, messages=messages, tools=[*given])


def _gemini(model: str, wire: Wire, parts: list[str], tools: list[dict[str, Any]], max_output: int) -> RequestBody:
    own = [{"text": wire.system}] if isinstance(wire.system, str) else wire.system or []
    system: list[dict[str, Any]] = [*({"text": part} for part in parts), *own]
    config = {**_some(system_instruction={"parts": system} if system else None, tools=tools), "max_output_tokens": max_output}
    kwargs = {"model": model, "contents": wire.messages, "config": config}
    return RequestBody(kwargs=kwargs, system=system or None, messages=list(wire.messages), tools=[*tools])


def _anthropic(
    model: str, wire: Wire, parts: list[str], stable: bool, tools: list[dict[str, Any]], max_output: int
) -> RequestBody:
    own: list[Any] = [{"type": "text", "text": wire.system}] if isinstance(wire.system, str) else wire.system or []
    system: list[Any] = [*({"type": "text", "text": part} for part in parts), *own]
    messages: list[Any] = list(wire.messages)
    room = BREAKPOINTS - breakpoints([{"content": own}, *messages], tools)
    mark = (
        _LONG_CACHE_MARK if _keeps_long({"content": [*own, *messages]}) else _CACHE_MARK
    )  # a longer one may not stand behind a shorter one
    marked: list[CachePlace] = []
    if stable and room > 0:
        system[0], room = {**system[0], **mark}, room - 1
        marked.append("instructions")
    last = next((place for place in range(len(tools) - 1, -1, -1) if not tools[place].get("defer_loading")), None)
    if any("cache_control" in tool for tool in tools):
        marked.append("tools")
    elif last is not None and room > 0:
        tools[last], room = {**tools[last], **mark}, room - 1
        marked.append("tools")
    before = _before_the_last_words(messages)
    if breakpoints(messages, ()):
        marked.append("history")
    elif room > 0 and before is not None and (held := _marked(messages[before])):
        messages[before] = held
        marked.append("history")
    kwargs = {"model": model, "max_tokens": max_output, **_some(system=system), "messages": messages, **_some(tools=tools)}
    return RequestBody(kwargs=kwargs, system=system or None, messages=messages, tools=[*tools], marked=tuple(marked))


def _before_the_last_words(messages: Sequence[Mapping[str, Any]]) -> int | None:
    """The index of the message before the user's last words, with which the conversation so far ends; None where there is
    none."""
    for index in range(len(messages) - 1, 0, -1):
        if messages[index].get("role") == "user" and not _only_results(messages[index].get("content")):
            return index - 1
    return None


def _only_results(content: object) -> bool:
    blocks = content if isinstance(content, list | tuple) else ()
    return bool(blocks) and all((mapping(block) or {}).get("type") == "tool_result" for block in blocks)


def _keeps_long(holder: Mapping[str, Any]) -> bool:
    """Whether a block inside has a cache mark of an hour."""
    content = holder.get("content")
    blocks = [mapping(block) or {} for block in content] if isinstance(content, list | tuple) else []
    return any((mapping(block.get("cache_control")) or {}).get("ttl") == "1h" or _keeps_long(block) for block in blocks)


def _marked(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A copy of the message with a cache mark at its end; None where its last block takes none."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list | tuple) or not blocks:
        return None
    block = mapping(blocks[-1])
    if block is None or block.get("type") not in ("text", "tool_use", "tool_result", "image", "document"):
        return None
    return {**message, "content": [*blocks[:-1], {**block, **_CACHE_MARK}]}


def _some(**given: Any) -> dict[str, Any]:
    """Those of the arguments that hold something."""
    return {name: value for name, value in given.items() if value}


# The caller's `system=`, in any provider's shape, as the system message that is before all others. The shapes are a
# string, a list of Anthropic's text blocks (which keep their `cache_control`), and Gemini's system instruction: a dict
# with `parts`, or a list of parts. A list may hold strings.


def system_prompt(system: object, provider: str) -> dict[str, Any] | None:
    """Returns the system message, in the shape that `system` has, else in that of `provider`; None where `system` is None or
    holds no text. Raises `InvalidInput` naming the part that can't be used."""
    if system is None or isinstance(system, str):
        return {"role": "system", "content": system} if system and system.strip() else None
    fields = None if isinstance(system, list | tuple) else mapping(system)
    given = system if fields is None else fields.get("parts", [fields])
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, list | tuple):
        raise InvalidInput(
            f"must be a string, a list of text blocks or {{'parts': […]}}, not {type_name(given)}", path="system"
        )
    blocks = [_block(block, index) for index, block in enumerate(given)]
    if not any(block["text"].strip() for block in blocks):
        return None
    typed = any("type" in block for block in blocks)
    if not typed and (fields is not None or provider == Gemini.name or any(isinstance(block, Mapping) for block in given)):
        return {"role": "system", "parts": blocks}
    return {"role": "system", "content": [{"type": "text", **block} for block in blocks]}


def apart(message: Mapping[str, Any], provider: str) -> str | list[dict[str, Any]] | None:
    """Returns the content of a message that `system_prompt` made, for a provider that keeps the system prompt apart from the
    messages: as it is, or its text alone where it has another provider's shape. None for OpenAI's chat."""
    if provider == OpenAIChat.name:
        return None
    content = message.get("content", message.get("parts"))
    if provider == OpenAIResponses.name:
        return system_text(content)
    own = isinstance(content, str) or ("parts" in message) == (provider == Gemini.name)
    return content if own else system_text(content)


def _block(value: object, index: int) -> dict[str, Any]:
    """Returns a text block or part as a dict. Raises `InvalidInput` for anything but text."""
    block = {"text": value} if isinstance(value, str) else mapping(value)
    typed = "text" if block is None else block.get("type", "text")
    if block is None or typed != "text" or not isinstance(block.get("text"), str):
        kind = Phrase(type_name(value) if block is None else "one without a text" if typed == "text" else quoted(typed))
        raise InvalidInput(
            "must be a text block, not {}", kind, path=f"system[{index}]", advice="give {'type': 'text', 'text': '…'}"
        )
    return dict(block)


# Shaping: an upper bound of the tokens that any dialect adds when it writes a conversation (BUD-4). Dialects add the
# user's message that some providers require first, words around orphaned calls and results, new ids and names in place
# of missing ones, arguments wrapped in an object, and notes in place of images. The bound is part of the budget before
# anything is packed, so that shaping never uses up the reserve. It only counts short texts: no long text is counted
# twice.


Count = Callable[[str], int]

_WRAPPED = '{"arguments": ""}'
_ESCAPED = '"\\\n\r\t'
_JOINED_TOKENS = 2
"""Tokens that two joined texts may cost beyond the sum of both."""
_MAX_CACHED = 2_000
"""Characters up to which a note is counted; a longer one is taken at four tokens a character."""


def shaping(messages: Sequence[Message], profile: Profile, count: Count) -> int:
    """Returns an upper bound of the tokens that writing adds to what `measure` counts for these messages. It is 0 for a
    conversation of texts only that begins with the user."""
    if all(type(part) is Text for message in messages for part in message.parts):
        first = leading_system(messages)
        return 0 if first < len(messages) and _is_user_turn(messages[first]) else profile.per_message + count(START)
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
    around_call = count(call_as_text(ToolCall(id="", name="", arguments=""))) + _JOINED_TOKENS - PER_CALL
    around_result = count(result_as_text(ToolResult(call_id="", name="x", text=""))) + _JOINED_TOKENS - PER_CALL
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
    return max(0, (count(note) if len(note) <= _MAX_CACHED else 4 * len(note)) - image_tokens(profile.images, image))
