"""OpenAI content: reads the content of a message or a function's output, as both of OpenAI's APIs write it, and joins
answers of the chat API."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from germane.dialects.envelope import mapping, type_name
from germane.dialects.held_text import opaque
from germane.dialects.image_size import data_url, image_size
from germane.errors import InvalidInput
from germane.types.message import Image, Part, Text

__all__ = ["has_part", "joined_answers", "read_content"]

_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_NAMING = ("role", "name", "function_call", "audio")
"""Keys of which a joined answer has the first one's."""
_IMAGES = ("image_url", "input_image", "computer_screenshot")


def has_part(content: object, kinds: Collection[str]) -> bool:
    """Returns whether `content` is a list of parts with one of these types."""
    parts = content if isinstance(content, list | tuple) else ()
    named = (part.get("type") for part in parts if isinstance(part, Mapping))
    return any(isinstance(kind, str) and kind in kinds for kind in named)


def read_content(content: object) -> tuple[Part, ...]:
    """Reads a string or a list of parts. Refusals are text; a part of an unknown type is opaque. Raises `InvalidInput` naming
    the part that can't be read."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if content is None:
        return ()
    if not isinstance(content, list | tuple):
        raise InvalidInput(f"content is {type_name(content)}: give a string, a list of parts or None")
    return tuple(_read_part(part, index) for index, part in enumerate(content))


def joined_answers(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns several answers of the assistant's as one: with the content and the calls of all, and all keys that gateways add.
    None of them is changed."""
    held: dict[str, list[Any]] = {}
    for answer in answers:
        for key, value in answer.items():
            held.setdefault(key, []).append(value)
    return {key: values[0] if key in _NAMING else _joined(values) for key, values in held.items()}


def _joined(values: Sequence[Any]) -> Any:
    """The texts one below the other, or all items; the first value where these are neither texts nor lists."""
    full = [value for value in values if value not in (None, "", [], ())]
    if len(full) < 2:
        return full[0] if full else values[0]
    if all(isinstance(value, str) for value in full):
        return "\n\n".join(full)
    if all(isinstance(value, list | tuple | str) for value in full):
        return [part for value in full for part in _as_parts(value)]
    return full[0]


def _as_parts(content: str | Sequence[Any]) -> Sequence[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _read_part(value: object, index: int) -> Part:
    if isinstance(value, str):
        return Text(value)
    raw = mapping(value)
    if raw is None:
        raise InvalidInput(f"content part {index} is {type_name(value)}: give a mapping with a type")
    kind = raw.get("type")
    if kind in _TEXTS or kind == "refusal":
        text = raw.get("refusal" if kind == "refusal" else "text")
        if not isinstance(text, str):
            raise InvalidInput(f"content part {index} is of type {kind}, but its text is {type_name(text)}: give a string")
        return Text(text)
    if kind in _IMAGES:
        return _read_image(raw, index)
    return opaque(f"openai:{str(kind)[:40]}", raw)


def _read_image(raw: Mapping[str, Any], index: int) -> Image:
    """The chat API has url and detail in an object of their own; an image of the Responses API may be a file without a url."""
    source = raw.get("image_url")
    inner = mapping(source) or {}
    url = source if isinstance(source, str) else inner.get("url")
    url = url if isinstance(url, str) and url else None
    if url is None and raw.get("type") == "image_url":
        raise InvalidInput(f"content part {index} is an image_url without a url")
    inline = data_url(url) if url else None
    width, height = (image_size(inline[1]) if inline else None) or (None, None)
    detail = inner.get("detail", raw.get("detail"))
    return Image(width=width, height=height, detail=detail if isinstance(detail, str) else "auto", url=url, raw=raw)
