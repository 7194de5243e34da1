"""Stand-ins: a framework's messages as messages of the chat API, so that `compact` can read, count and move them.

The framework keeps its own objects and writes the request itself; a stand-in only says what a message says and costs. What is
neither text nor a picture (thinking, files, calls that the provider ran itself) is held unread, by its weight. Names and ids
that the chat API would refuse are replaced, so that no stand-in has to be rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from germane.dialects.wording import json_text, tool_name

__all__ = ["CallIds", "assistant", "held", "kept_calls", "picture", "plain_text", "result", "said", "tool_call"]

_LONGEST_ID = 40


class CallIds:
    """Gives each id of a call one that the chat API takes. The same id always gets the same, counted in order of appearance."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def fit(self, id: str | None) -> str:
        if id and len(id) <= _LONGEST_ID:
            return id
        return self._given.setdefault(id or "", f"call_fit_{len(self._given)}")


def said(role: str, content: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A message of the user's or the system's."""
    return {"role": role, "content": content if isinstance(content, str) else list(content) or ""}


def assistant(text: str, calls: Sequence[Mapping[str, Any]], unread: Sequence[Any] = ()) -> dict[str, Any]:
    """A message of the model's. `unread` are its parts that aren't text: the chat API has one place for such, an answer's
    audio."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    if unread:
        message["audio"] = {"held": list(unread)}
    return message


def tool_call(id: str, name: str, arguments: object) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": tool_name(name), "arguments": json_text({} if arguments is None else arguments)},
    }


def result(call_id: str, text: str, unread: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A tool's result. `unread` are its pictures and files, which count beside the text."""
    content = [{"type": "text", "text": text}, *unread] if unread else text
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def held(value: object) -> dict[str, Any]:
    """A part of the user's, or of a result, that counts and isn't read."""
    return {"type": "file", "file": {"held": value}}


def picture(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def plain_text(content: object) -> str:
    """The text of a message that `compact` wrote itself: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def kept_calls(given: Mapping[str, Any], written: Mapping[str, Any]) -> dict[int, str | None]:
    """Which calls of a stand-in are still calls in the message written for it, by number; the value is a new id, None where the
    id is the same."""
    left = list(written.get("tool_calls") or ())
    kept: dict[int, str | None] = {}
    for number, call in enumerate(given.get("tool_calls") or ()):
        if left and left[0]["function"] == call["function"]:
            kept[number] = None if left[0]["id"] == call["id"] else left[0]["id"]
            del left[0]
    return kept
