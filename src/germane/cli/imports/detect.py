"""Detect: which format a file of conversations is in, by its shape and never by its name; and the way to its reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from germane.cli.imports.chatgpt import read_chatgpt
from germane.cli.imports.jsonl import objects, read_jsonl, read_messages
from germane.cli.imports.locomo import read_locomo
from germane.cli.imports.row import Row
from germane.cli.imports.turn import Naming
from germane.errors import InvalidInput

__all__ = ["FORMATS", "detect", "document", "read"]

FORMATS = ("jsonl", "chatgpt", "messages", "locomo")


def read(data: bytes, session: str, format: str = "auto") -> tuple[str, Iterator[Row]]:
    """The format's name and the rows. Raises `InvalidInput` where it is none of `FORMATS`, or not the one asked for."""
    found: Any = None
    if format in ("auto", "jsonl"):
        first = [line for _, line in islice(objects(data), 20)]
        lines = [line for line in first if isinstance(line, Mapping)]
        if not first:
            raise InvalidInput("nothing in it (give a file of messages)")
        if format == "jsonl" or (lines and not (len(first) == 1 and detect(lines[0]))):
            return "jsonl", read_jsonl(data, session)
    found = document(data)
    kind = detect(found)
    if kind is None or format not in ("auto", kind):
        wanted = "a known format" if format == "auto" else format
        raise InvalidInput(f"not {wanted} (known are JSON Lines of messages, a ChatGPT export, {{'messages': […]}}, LoCoMo)")
    return kind, _READERS[kind](found, session)


def detect(found: Any) -> str | None:
    """The format of one whole JSON document; None where it is none."""
    if isinstance(found, Mapping):
        conversation = found.get("conversation")
        if isinstance(conversation, Mapping) and any(str(key).startswith("session_") for key in conversation):
            return "locomo"
        if isinstance(found.get("messages"), list):
            return "messages"
        return "chatgpt" if isinstance(found.get("mapping"), Mapping) else None
    if isinstance(found, list) and found:
        maps = [entry for entry in found if isinstance(entry, Mapping)]
        if any("mapping" in entry for entry in maps):
            return "chatgpt"
        if any("role" in entry or isinstance(entry.get("messages"), list) for entry in maps):
            return "messages"
    return None


def document(data: bytes) -> Any:
    """One JSON document. Raises `InvalidInput` where the bytes aren't one."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidInput("not JSON that can be read: nested too deep, or a number too long") from None


def _messages(found: Any, session: str) -> Iterator[Row]:
    naming = Naming()
    if isinstance(found, list) and any(isinstance(entry, Mapping) and "role" in entry for entry in found):
        yield from read_messages(found, session, naming)
        return
    conversations = found if isinstance(found, list) else [found]
    for number, one in enumerate(conversations, start=1):
        listed = one.get("messages") if isinstance(one, Mapping) else None
        own = (one.get("session") or one.get("id")) if isinstance(one, Mapping) else None
        fallback = session if len(conversations) == 1 else f"{session}-{number}"
        prefix = "" if len(conversations) == 1 else f"conversation {number}, "
        yield from read_messages(
            listed if isinstance(listed, list) else [None], own if isinstance(own, str) else fallback, naming, prefix
        )


def _chatgpt(found: Any, session: str) -> Iterator[Row]:
    return read_chatgpt(found if isinstance(found, list) else [found], session)


_READERS: Mapping[str, Callable[[Any, str], Iterator[Row]]] = MappingProxyType(
    {"locomo": read_locomo, "messages": _messages, "chatgpt": _chatgpt}
)
