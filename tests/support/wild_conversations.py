"""Wild conversations: random conversations, broken ones included, such as callers pass after cutting and merging them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from germane.text.normal import valid_unicode
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult

__all__ = ["PNG", "call_ids", "conversations", "dicts", "said", "strings"]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAAElFTkSuQmCC"

_ids = st.sampled_from(["", "a", "b", "a b/ü", "x" * 60, "call_1"])
_names = st.sampled_from(["", "f", "g", "9 lives!", "n" * 90])
_texts = st.one_of(st.sampled_from(["", " ", "\n", "yes", "ok ", "\ud800", "日本語", "x" * 300]), st.text(max_size=12))
_arguments = st.sampled_from(["", "{}", '{"a": 1}', "[1]", "{broken", "NaN", '{"a": NaN}'])
_urls = st.sampled_from(
    [None, "https://x.test/a.png", "http://x.test/a", "gs://b/a.gif", "data:image/tiff;base64,AAAA", "data:,hi"]
)
_opaque = st.sampled_from(
    [
        Opaque(kind="openai:input_audio", raw={"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}),
        Opaque(kind="openai:file", raw={"type": "file", "file": {"file_id": "file-1"}}),
        Opaque(kind="openai:audio", raw={"id": "audio_1"}),
        Opaque(kind="openai-responses:reasoning", raw={"type": "reasoning", "id": "rs_1", "summary": []}),
        Opaque(kind="openai:input_file", raw={"type": "input_file", "file_id": "file-1"}),
        Opaque(kind="anthropic:thinking", raw={"type": "thinking", "thinking": "hm", "signature": "s"}),
        Opaque(
            kind="anthropic:document",
            raw={"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
        ),
        Opaque(kind="anthropic:document", raw={"type": "document", "source": {"type": "text", "data": "a text"}}),
        Opaque(kind="gemini:inlineData", raw={"inlineData": {"mimeType": "audio/mpeg", "data": "AAAA"}}),
        Opaque(kind="gemini:fileData", raw={"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.test/a.pdf"}}),
    ]
)
_parts: st.SearchStrategy[Part] = st.one_of(
    _texts.map(Text),
    _texts.map(Text),
    st.builds(Image, url=_urls),
    st.just(Image(url=f"data:image/png;base64,{PNG}")),
    st.builds(ToolCall, id=_ids, name=_names, arguments=_arguments),
    st.builds(ToolResult, call_id=_ids, text=_texts, name=_names, error=st.booleans()),
    _opaque,
)
conversations = st.lists(
    st.builds(
        lambda role, parts, name: Message(role=role, parts=tuple(parts), name=name),
        st.sampled_from(["system", "user", "assistant", "tool", "user", "assistant", "tool"]),
        st.lists(_parts, max_size=4),
        st.sampled_from([None, "Ann", "Ann Lee", "<|x|>"]),
    ),
    min_size=1,
    max_size=9,
)

_calls = st.lists(
    st.builds(lambda key, name: {"id": key, "type": "function", "function": {"name": name, "arguments": "{}"}}, _ids, _names),
    max_size=2,
)
_contents = st.one_of(st.none(), _texts, st.lists(_texts.map(lambda text: {"type": "text", "text": text}), max_size=2))
_blocks = st.one_of(
    _texts.map(lambda text: {"type": "text", "text": text}),
    st.builds(lambda key, name: {"type": "tool_use", "id": key, "name": name, "input": {}}, _ids, _names),
    st.builds(lambda key, text: {"type": "tool_result", "tool_use_id": key, "content": text}, _ids, _texts),
)
_gemini = st.one_of(
    _texts.map(lambda text: {"text": text}),
    _names.map(lambda name: {"functionCall": {"name": name, "args": {}}}),
    st.builds(lambda name, text: {"functionResponse": {"name": name, "response": {"output": text}}}, _names, _texts),
)
_shapes: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(
        lambda role, content: {"role": role, "content": content}, st.sampled_from(["system", "user", "assistant"]), _contents
    ),
    st.builds(lambda content, calls: {"role": "assistant", "content": content, "tool_calls": calls}, _contents, _calls),
    st.builds(lambda key, text: {"role": "tool", "tool_call_id": key, "content": text}, _ids, _texts),
    st.builds(
        lambda blocks: {"role": "user", "content": blocks},
        st.lists(_blocks.filter(lambda b: b["type"] != "tool_use"), max_size=3),
    ),
    st.builds(
        lambda blocks: {"role": "assistant", "content": blocks},
        st.lists(_blocks.filter(lambda b: b["type"] != "tool_result"), max_size=3),
    ),
    st.builds(
        lambda parts: {"role": "model", "parts": parts},
        st.lists(_gemini.filter(lambda p: "functionResponse" not in p), max_size=3),
    ),
    st.builds(
        lambda parts: {"role": "user", "parts": parts}, st.lists(_gemini.filter(lambda p: "functionCall" not in p), max_size=3)
    ),
)
_items: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(
        lambda role, text: {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]},
        st.sampled_from(["user", "developer", "system"]),
        _texts,
    ),
    st.builds(
        lambda text: {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        },
        _texts,
    ),
    st.builds(lambda key, name: {"type": "function_call", "call_id": key, "name": name, "arguments": "{}"}, _ids, _names),
    st.builds(lambda key, text: {"type": "function_call_output", "call_id": key, "output": text}, _ids, _texts),
    st.builds(lambda key: {"type": "custom_tool_call", "call_id": key, "name": "sql", "input": "select 1"}, _ids),
    st.builds(lambda key, text: {"type": "custom_tool_call_output", "call_id": key, "output": text}, _ids, _texts),
    st.just({"type": "reasoning", "id": "rs_1", "summary": []}),
    st.just({"type": "web_search_call", "id": "ws_1", "status": "completed"}),
)
_shapes = st.one_of(_shapes, _items)
_extras = st.sampled_from([{}, {}, {"id": "m1", "name": "Ann Lee", "created_at": "2024-05-01T10:00:00Z"}])
dicts = st.lists(st.builds(lambda shape, extra: shape | extra, _shapes, _extras), min_size=1, max_size=9)


def strings(value: object) -> Iterator[str]:
    """Yields every string in nested wire values, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from strings(each)


def said(message: Message) -> list[str]:
    """The parts of a message that must reach every provider: its texts and tool results that aren't blank."""
    texts = [part.text for part in message.parts if isinstance(part, Text | ToolResult)]
    return [valid_unicode(text).strip() for text in texts if text.strip()]


def call_ids(raw: dict[str, Any]) -> list[str]:
    """Ids of the tool calls that an OpenAI message makes or answers."""
    made = [call["id"] for call in raw.get("tool_calls") or []]
    return [*made, *([raw["tool_call_id"]] if "tool_call_id" in raw else [])]
