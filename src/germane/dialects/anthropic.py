"""Anthropic: the Messages API, with `system` apart and tool results first in the user's message.

The parser also accepts system messages among the others; they are sent in `system`. A message that holds only tool results
is read as role `tool`. Images and documents inside a tool result stay in the caller's own dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from germane.dialects.anthropic_check import (
    BREAKPOINTS,
    ID,
    NAME,
    blank,
    breakpoints,
    faults,
    is_own,
    may_stand,
    mended,
    misplaced,
)
from germane.dialects.dialect import Fault, OutgoingMessage
from germane.dialects.fields import (
    START,
    image_note,
    json_object,
    json_text,
    mapping,
    only_keys,
    read_envelope,
    read_role,
    tool_name,
    type_name,
)
from germane.dialects.media import attachment, data_url, image_size
from germane.dialects.opaque import as_result, opaque, prefix_bound
from germane.dialects.pairing import ProviderMessage, close_orphans, join_behind_calls, merge_by_role, pair_calls
from germane.errors import InvalidInput
from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Role, Text, ToolCall, ToolResult, Wire

ROLES: Mapping[str, Role] = MappingProxyType({"user": "user", "assistant": "assistant", "system": "system"})
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class Anthropic:
    """Implements `Dialect`."""

    name = "anthropic"

    def speaks(self, raw: Mapping[str, Any]) -> bool:
        content = raw.get("content")
        if not isinstance(content, list | tuple) or raw.get("type") not in (None, "message"):
            return False
        return any(isinstance(part, Mapping) and is_own(part) for part in content)

    def parse(self, raw: Mapping[str, Any]) -> Message:
        role = ROLES[read_role(raw, ROLES)]
        content = raw.get("content")
        if isinstance(content, str):
            return Message(role=role, parts=(Text(content),) if content else (), **read_envelope(raw))
        if content is not None and not isinstance(content, list | tuple):
            raise InvalidInput(f"is {type_name(content)}", path="content", advice="give a string or a list of blocks")
        parts = [part for index, block in enumerate(content or ()) for part in _read_part(block, index)]
        if role == "user" and content and all((mapping(block) or {}).get("type") == "tool_result" for block in content):
            role = "tool"
        return Message(role=role, parts=tuple(parts), **read_envelope(raw))

    def native(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        content = raw.get("content")
        raw = only_keys(raw, ("role", "content"))
        if isinstance(content, str):
            return None if blank(content) else raw
        blocks = [mapping(block) for block in content or ()]
        full = [
            block for block in blocks if block is not None and not (block.get("type") == "text" and blank(block.get("text")))
        ]
        if not full or any(block is None or _is_invalid(block, raw.get("role")) for block in blocks):
            return None
        results = [block.get("type") == "tool_result" for block in full]
        if results != sorted(results, reverse=True):
            return None
        return raw if len(full) == len(blocks) else {**raw, "content": full}

    def mask(self, raw: Mapping[str, Any], lines: Mapping[int, str]) -> Mapping[str, Any]:
        content = raw.get("content")
        if not isinstance(content, list | tuple):
            return raw
        blocks, number, changed = list[Any](), 0, False
        for block in content:
            fields = mapping(block)
            if fields is not None and fields.get("type") == "tool_result":
                if (line := lines.get(number)) is not None:
                    block, changed = {**fields, "content": line}, True
                number += 1
            blocks.append(block)
        return {**raw, "content": blocks} if changed else raw

    def render(self, messages: Sequence[Message]) -> Wire:
        return self.compose([OutgoingMessage(message=message) for message in messages])

    def compose(self, turns: Sequence[OutgoingMessage], tools: Sequence[Mapping[str, Any]] = ()) -> Wire:
        apart = [turn for turn in turns if turn.message.role == "system" and not turn.in_place]
        spoken = behind_the_user(turn for turn in turns if turn.message.role != "system" or turn.in_place)
        marks = breakpoints((turn.native for turn in turns), tools)
        room = BREAKPOINTS - marks - any(turn.pinned for turn in turns)
        paired = join_behind_calls(pair_calls(spoken, fits=ID.fullmatch))
        written = [_write_message(turn, room > 0) for turn in paired]
        messages, unplaced = placed(merge_by_role(_mended(written), "content", [{"type": "text", "text": START}]))
        own = {id(turn.native) for turn in turns}
        messages = [message if id(message) in own else _plain(message) for message in messages]
        if messages[-1]["role"] == "assistant":
            messages[-1] = _trimmed(messages[-1])
        return Wire(messages=messages, system=write_system([*apart, *unplaced], marks < BREAKPOINTS))

    def faults(self, wire: Wire) -> tuple[Fault, ...]:
        return tuple(faults(wire))

    def problems(self, wire: Wire) -> tuple[str, ...]:
        return tuple(fault.text for fault in faults(wire))


def _read_part(value: object, index: int) -> list[Part]:
    if isinstance(value, str):
        return [Text(value)]
    raw = mapping(value)
    if raw is None:
        raise InvalidInput(f"is {type_name(value)}", path=f"content[{index}]", advice="give a mapping with a type")
    match raw.get("type"):
        case "text":
            if not isinstance(raw.get("text"), str):
                raise InvalidInput(
                    f"is {type_name(raw.get('text'))}",
                    path=f"content[{index}].text",
                    advice="give a string",
                )
            return [Text(raw["text"])]
        case "image":
            return [_read_image(raw)]
        case "tool_use":
            arguments = json_text({} if raw.get("input") is None else raw["input"])
            return [ToolCall(id=_string(raw, "id"), name=_string(raw, "name"), arguments=arguments)]
        case "tool_result":
            return _read_result(raw, index)
    return [opaque(f"anthropic:{str(raw.get('type'))[:40]}", raw)]


def _read_result(raw: Mapping[str, Any], index: int) -> list[Part]:
    content = raw.get("content")
    if content is None or isinstance(content, str):
        inner: list[Part] = [Text(content or "")]
    elif isinstance(content, list | tuple):
        try:
            inner = [part for place, each in enumerate(content) for part in _read_part(each, place)]
        except InvalidInput as error:
            raise error.within(f"content[{index}]") from None
    else:
        raise InvalidInput(
            f"is {type_name(content)}", path=f"content[{index}].content", advice="give a string or a list of blocks"
        )
    text, others = as_result(inner)
    result = ToolResult(call_id=_string(raw, "tool_use_id"), text=text, error=raw.get("is_error") is True)
    return [result, *(part for part in others if isinstance(part, Image | Opaque))]


def _read_image(raw: Mapping[str, Any]) -> Image:
    source = mapping(raw.get("source")) or {}
    if source.get("type") == "base64" and isinstance(data := source.get("data"), str):
        width, height = image_size(data) or (None, None)
        return Image(width=width, height=height, url=f"data:{source.get('media_type', 'image/png')};base64,{data}", raw=raw)
    url = source.get("url")
    return Image(url=url if isinstance(url, str) else None, raw=raw)


def _string(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _is_invalid(block: Mapping[str, Any], role: object) -> bool:
    """Returns whether the API would refuse the block as it is."""
    if misplaced(block.get("type"), role):
        return True
    match block.get("type"):
        case "tool_use":
            return not (
                isinstance(block.get("input"), Mapping) and NAME.fullmatch(_string(block, "name")) and _string(block, "id")
            )
        case "tool_result":
            return not _string(block, "tool_use_id")
        case kind:
            return not isinstance(kind, str)


def _write_message(turn: OutgoingMessage, cache_mark: bool) -> ProviderMessage:
    role = turn.message.role if turn.message.role in ("assistant", "system") else "user"
    answers = bool(turn.message.tool_results)
    if turn.native is not None and not turn.late:
        return ProviderMessage(
            role=role, parts=_blocks(turn.native.get("content")), native=turn.native, answers=answers, joins=turn.joins
        )
    blocks = _write_parts(turn.message, role) if turn.native is None else _blocks(turn.native.get("content"))
    if turn.late:
        first = next((index for index, block in enumerate(blocks) if block.get("type") != "tool_result"), len(blocks))
        mark = {"cache_control": {"type": "ephemeral"}} if turn.late_pinned and cache_mark else {}
        blocks = [*blocks[:first], {"type": "text", "text": valid_unicode(turn.late), **mark}, *blocks[first:]]
    return ProviderMessage(role=role, parts=blocks, answers=answers)


def _mended(turns: Sequence[ProviderMessage]) -> list[ProviderMessage]:
    """Returns the turns, without empty ones, with what `anthropic_turns` mends."""
    full = [turn for turn in turns if turn.parts]
    before = [{"role": turn.role, "content": turn.parts} for turn in full]
    own = {id(message): turn for message, turn in zip(before, full, strict=True)}
    return [
        own.get(id(message)) or ProviderMessage(role=message["role"], parts=message["content"]) for message in mended(before)
    ]


def _blocks(content: object) -> list[Any]:
    return (
        [{"type": "text", "text": content}]
        if isinstance(content, str)
        else list(content)
        if isinstance(content, list | tuple)
        else []
    )


def _write_parts(message: Message, role: str) -> list[Any]:
    """Writes a message's blocks: results first and calls last, as the API requires, without empty texts. Calls with thinking
    stay where they are: thinking belongs to what stands before and behind it."""
    thinks = any(isinstance(part, Opaque) and prefix_bound(part) for part in message.parts)
    order = sorted(message.parts, key=lambda part: -1 if isinstance(part, ToolResult) else _is_last(part) and not thinks)
    return [block for part in order if (block := _write_part(part, role)) is not None]


def _is_last(part: Part) -> bool:
    return isinstance(part, ToolCall)


def _write_part(part: Part, role: str) -> dict[str, Any] | None:
    match part:
        case Text(text):
            return None if blank(text) else {"type": "text", "text": valid_unicode(text)}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": tool_name(part.name), "input": json_object(part.arguments)}
        case ToolResult():
            error = {"is_error": True} if part.error else {}
            return {"type": "tool_result", "tool_use_id": part.call_id, "content": valid_unicode(part.text), **error}
        case Image():
            return (_write_image(part) if role == "user" else None) or {"type": "text", "text": valid_unicode(image_note(part))}
        case Opaque(kind=kind, raw=raw) if kind.startswith("anthropic:"):
            if role == "user" and misplaced(raw.get("type"), role):
                return None
            return _write_attachment(part, role) if misplaced(raw.get("type"), role) else dict(raw)
        case Opaque():
            return _write_attachment(part, role)


def _write_image(image: Image) -> dict[str, Any] | None:
    if image.raw.get("type") == "image" and mapping(image.raw.get("source")):
        return dict(image.raw)
    if image.url and (inline := data_url(image.url)) and inline[0] in _PICTURES and inline[1]:
        return {"type": "image", "source": {"type": "base64", "media_type": inline[0], "data": inline[1]}}
    if image.url and image.url.startswith("https://"):
        return {"type": "image", "source": {"type": "url", "url": valid_unicode(image.url)}}
    return None


def _write_attachment(part: Opaque, role: str) -> dict[str, Any] | None:
    held = attachment(part)
    if held is None:
        return None
    if role == "user" and held.media_type == "application/pdf" and (held.data or held.url.startswith("https://")):
        source = (
            {"type": "base64", "media_type": held.media_type, "data": held.data}
            if held.data
            else {"type": "url", "url": held.url}
        )
        return {"type": "document", "source": source, **({"title": valid_unicode(held.name)} if held.name else {})}
    return {"type": "text", "text": valid_unicode(held.note)}


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the message with its content as a string, if it holds a single text and nothing else."""
    match message["content"]:
        case [{"type": "text", "text": text, **more}] if not more:
            return {**message, "content": text}
    return message


def _trimmed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Strips trailing white space, which the API refuses in a last message of the assistant's."""
    content = message["content"]
    block = mapping(content[-1]) if isinstance(content, list | tuple) else {"text": content}
    text = (block or {}).get("text")
    if not isinstance(text, str) or text == text.rstrip():
        return message
    return {
        **message,
        "content": text.rstrip() if isinstance(content, str) else [*content[:-1], {**(block or {}), "text": text.rstrip()}],
    }


# The system prompt, and system messages in the middle where the model takes them. The API takes a system message only
# behind a user's message, as the last one or before the assistant's, and never two in a row. One that is elsewhere is
# moved behind the user's words that follow it; where none follow, it joins the system prompt.


def behind_the_user(turns: Iterable[OutgoingMessage]) -> list[OutgoingMessage]:
    """Merges each run of system messages into one, and moves it behind the user's turns that follow."""
    out: list[OutgoingMessage] = []
    waiting: list[OutgoingMessage] = []
    for turn in turns:
        if turn.message.role == "system":
            waiting.append(turn)
            continue
        if turn.message.role == "assistant":
            out += _joined(waiting)
            waiting = []
        out.append(turn)
    return out + _joined(waiting)


def placed(messages: Sequence[Any]) -> tuple[list[Any], list[OutgoingMessage]]:
    """Returns the messages without system messages that the API refuses where they stand, and these, for the system prompt."""
    kept: list[Any] = []
    rest: list[OutgoingMessage] = []
    for index, message in enumerate(messages):
        if message["role"] != "system" or may_stand(messages, index):
            kept.append(message)
        else:
            content = message["content"]
            text = content if isinstance(content, str) else ""
            rest.append(OutgoingMessage(message=Message.of("system", text), native=message))
    return kept, rest


def write_system(turns: Sequence[OutgoingMessage], cache_mark: bool) -> str | list[dict[str, Any]] | None:
    """Returns all system texts in order: as one string, or as a list of blocks where the caller's system is such a list or a
    cache mark is set. `cache_mark` says whether the request may hold another one. Where the caller's blocks have marks,
    germane's text stands behind them, so that the provider's cache keeps them: it differs from session to session."""
    pieces: list[list[Any]] = []
    last: list[Any] = []
    listed = False
    for turn in turns:
        content = turn.native.get("content") if turn.native is not None else None
        if isinstance(content, list | tuple):
            listed = True
            pieces.append(list(content))
        elif not blank(text := close_orphans(turn).message.text):
            mark = {"cache_control": {"type": "ephemeral"}} if turn.pinned and cache_mark and not turn.changing else {}
            listed = listed or bool(mark)
            block = {"type": "text", "text": valid_unicode(text), **mark}
            if turn.changing or turn.pinned:
                last = [block]
            else:
                pieces.append([block])
    blocks = [block for piece in pieces for block in piece]
    blocks = [*blocks, *last] if any(_is_marked(block) for block in blocks) else [*last, *blocks]
    if listed:
        return blocks
    return "\n\n".join(block["text"] for block in blocks) or None


def _is_marked(block: object) -> bool:
    return "cache_control" in (mapping(block) or {})


def _joined(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns system messages in a row as one, without blank ones; a single one stays the caller's own dict."""
    full = [turn for turn in turns if turn.native is not None or not blank(close_orphans(turn).message.text)]
    if len(full) < 2:
        return full
    blocks: list[Any] = []
    for turn in full:
        content = (turn.native or {}).get("content")
        text = {"type": "text", "text": valid_unicode(close_orphans(turn).message.text)}
        blocks += content if isinstance(content, list | tuple) else [text]
    native: Mapping[str, Any] = {"role": "system", "content": blocks}
    return [replace(full[0], native=native)]
