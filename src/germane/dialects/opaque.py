"""Opaque: parts of another kind than text and calls: which are signed, what text they hold, and thinking.

A signed or encrypted item is moved whole and unchanged, with what it belongs to, or not at all (HIST-5). OpenAI encrypts
reasoning and compaction items, Anthropic signs thinking and compaction blocks, and Gemini puts a signature on any part of
the model's.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from germane.dialects.fields import json_text, mapping
from germane.dialects.media import data_url
from germane.text.injected import without_injected
from germane.types.message import Message, Opaque, Part, Text

_SIGNATURES = ("encrypted_content", "signature", "thoughtSignature", "thought_signature")
_SEALED = frozenset(
    {
        "anthropic:compaction",
        "anthropic:fallback",
        "anthropic:redacted_thinking",
        "anthropic:thinking",
        "openai-responses:compaction",
        "openai-responses:reasoning",
    }
)
_FOLLOWED = frozenset(
    {
        "anthropic:mcp_tool_use",
        "anthropic:redacted_thinking",
        "anthropic:server_tool_use",
        "anthropic:thinking",
        "gemini:executableCode",
        "gemini:executable_code",
        "gemini:toolCall",
        "gemini:tool_call",
        "openai-responses:mcp_approval_request",
        "openai-responses:mcp_approval_response",
        "openai-responses:program",
        "openai-responses:reasoning",
    }
)


def signed(part: Opaque) -> bool:
    """Returns whether the provider refuses the item, or reads it wrongly, once anything in it is changed."""
    return part.kind in _SEALED or any(part.raw.get(key) for key in _SIGNATURES)


def bound_to_next(part: Opaque) -> bool:
    """Returns whether what stands behind the item came of it, so that neither may go without the other.

    These are reasoning and the call or message that follows, thinking and the rest of its turn, a server's call and its result,
    and a request for approval, its answer, and the call that was approved."""
    return part.kind in _FOLLOWED or (part.kind.startswith("gemini:") and signed(part))


def prefix_bound(part: Opaque) -> bool:
    """Returns whether the provider checks what stands before the item against what stood there when it was made.

    Anthropic's newer models refuse thinking where the system prompt, a tool or an earlier message has changed since, and all
    thinking behind it ("preserved thinking"). Who changes an earlier message leaves such items out: see `unbound`."""
    return part.kind in ("anthropic:thinking", "anthropic:redacted_thinking")


# The text in a document, a search result, a tool's output, a transcript. No other module decides what text such a part
# holds. Each dialect puts the text into `Opaque.text`, and what is searched, outlined and compared is taken from there.
# The names of the fields are those of the providers and of MCP. Of a part of an unknown type the fields with these
# names are read too.


_TITLES = ("title", "filename", "file_name", "uri", "url", "context")
_TEXTS = ("queries", "query", "code", "stdout", "stderr", "text", "transcript", "output", "logs", "error", "message")
_HOLDERS = (
    "action",
    "audio",
    "code_execution_result",
    "codeExecutionResult",
    "content",
    "executable_code",
    "executableCode",
    "file",
    "inline_data",
    "inlineData",
    "input_audio",
    "outputs",
    "resource",
    "results",
    "source",
    "tool_call",
    "toolCall",
    "tool_response",
    "toolResponse",
)
_READ_KEYS = (*_TITLES, *_TEXTS, *_HOLDERS)
"""The fields of a part that hold text, in the order in which they are read."""
_ARGUMENTS: Mapping[str, str] = MappingProxyType(
    {
        "mcp_approval_request": "arguments",
        "mcp_call": "arguments",
        "mcp_tool_use": "input",
        "server_tool_use": "input",
    }
)
"""The calls of a provider's own tools, with the field of their arguments."""
_JSON = ("args", "response")
"""The fields of Gemini's calls of its own tools that are read as JSON."""
_UNREAD = frozenset({"additional_tools", "compaction", "item_reference", "mcp_list_tools", "tool_search_output"})
"""Items that repeat what is said elsewhere, or that describe tools."""
_THOUGHT = re.compile(r"thinking|reasoning|thought")
_TEXTUAL = re.compile(r"text/.*|application/(?:json|xml|yaml|x-yaml|javascript|toml|.*\+(?:json|xml))")
_MAX_DEPTH = 8


def opaque(kind: str, raw: Mapping[str, Any]) -> Opaque:
    """Returns the part with its text."""
    return Opaque(kind=kind, raw=raw, text=held_text(raw))


def held_text(raw: Mapping[str, Any]) -> str:
    """Returns the text that the part holds, without its binary content; "" where it holds none, and for thinking. Linear."""
    return "\n".join(_texts(raw, 0))


def as_result(parts: Sequence[Part]) -> tuple[str, tuple[Part, ...]]:
    """Returns the text of a tool's result, and those of its parts that aren't only text: images, and files with bytes of their
    own."""
    texts, others = list[str](), list[Part]()
    for part in parts:
        if isinstance(part, Text) or (isinstance(part, Opaque) and part.text and not _has_bytes(part.raw, 0)):
            texts.append(part.text)
        else:
            others.append(part)
    return "\n".join(texts), tuple(others)


def without_held(message: Message) -> Message:
    """Returns the message without the parts whose text `kept_text` quotes."""
    return replace(message, parts=tuple(part for part in message.parts if not (isinstance(part, Opaque) and part.text)))


def kept_text(message: Message) -> str:
    """Returns the text of a message as it is stored. What a user's documents hold stands behind the user's words, as quoted
    lines: whoever reads the text then knows whose words these are. A quoted line can't end its quotation, whatever stands in
    it."""
    shown = [part.text for part in message.parts if isinstance(part, Opaque) and part.text] if message.role == "user" else []
    if not shown:
        return message.content
    said = without_held(message).content
    lines = (line for text in shown for line in without_injected(text).splitlines())
    quoted = "\n".join(f"> {line}" for line in lines if line.strip())
    return f"{said}\n\n{quoted}" if said.strip() else quoted


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value.strip() and not value.startswith("data:"):
            yield value
    elif isinstance(value, list | tuple):
        if depth < _MAX_DEPTH:
            for each in value:
                yield from _texts(each, depth + 1)
    elif depth < _MAX_DEPTH and (fields := mapping(value)) is not None:
        yield from _strings(fields, depth)


def _strings(fields: Mapping[str, Any], depth: int) -> Iterator[str]:
    kind = fields.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind in _UNREAD or fields.get("thought") is True or _THOUGHT.search(kind):
        return
    if (arguments := _ARGUMENTS.get(kind)) is not None:
        yield f"{fields.get('name') or ''}({json_text(fields.get(arguments) or {})})"
    for name in _READ_KEYS:
        if name in fields:
            yield from _texts(fields[name], depth + 1)
    yield from (json_text(fields[name]) for name in _JSON if isinstance(fields.get(name), Mapping))
    yield from _decoded(fields)


def _decoded(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yields the text in a payload: a source of type text, or the bytes of a text file."""
    data = next((fields[name] for name in ("data", "blob", "file_data") if isinstance(fields.get(name), str | bytes)), None)
    if data is None:
        return
    if fields.get("type") == "text" and isinstance(data, str):
        yield from _texts(data, 0)
        return
    media = next((fields[name] for name in ("media_type", "mimeType", "mime_type") if isinstance(fields.get(name), str)), "")
    if isinstance(data, str) and (inline := data_url(data)) is not None:
        media, data = inline
    if _TEXTUAL.fullmatch(media.partition(";")[0].strip().lower()):
        try:
            text = (data if isinstance(data, bytes) else binascii.a2b_base64(data)).decode("utf-8", "replace")
        except (ValueError, UnicodeEncodeError):  # no base64
            return
        if text.strip():
            yield text


def _has_bytes(value: object, depth: int) -> bool:
    """Returns whether the part holds or names a file that germane doesn't read as text."""
    if isinstance(value, list | tuple):
        return depth < _MAX_DEPTH and any(_has_bytes(each, depth + 1) for each in value)
    fields = mapping(value) if isinstance(value, Mapping) or not isinstance(value, str | int | float | bool | None) else None
    if fields is None or depth >= _MAX_DEPTH:
        return False
    if fields.get("type") in ("base64", "url", "file") or any(fields.get(name) for name in ("blob", "file_data", "file_id")):
        return True
    return any(_has_bytes(fields[name], depth + 1) for name in _HOLDERS if name in fields)


# Takes the thinking out of a message that its provider would refuse because something before it has changed.


_BOUND = ("thinking", "redacted_thinking")


def unbound(raw: Mapping[str, Any] | Message) -> Mapping[str, Any] | Message | None:
    """Returns the message without Anthropic's thinking, whole blocks, all others unchanged; `raw` itself where it has none, and
    None where nothing else is in it. See `prefix_bound` for when the provider refuses thinking."""
    if isinstance(raw, Message):
        parts = tuple(part for part in raw.parts if not (isinstance(part, Opaque) and prefix_bound(part)))
        return raw if len(parts) == len(raw.parts) else replace(raw, parts=parts) if parts else None
    content = raw.get("content")
    if not isinstance(content, list | tuple) or raw.get("role") != "assistant":
        return raw
    kept = [block for block in content if (mapping(block) or {}).get("type") not in _BOUND]
    return raw if len(kept) == len(content) else {**raw, "content": kept} if kept else None
