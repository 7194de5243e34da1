"""Detect format: recognises the format of a file by its content, and calls the reader for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from germane.cli.imports.chatgpt import read_chatgpt
from germane.cli.imports.jsonl import objects, read_jsonl, read_messages
from germane.cli.imports.locomo import read_locomo
from germane.cli.imports.message_fields import MessageNaming
from germane.cli.imports.rows import Row
from germane.errors import InvalidInput

__all__ = ["FORMATS", "detect", "parse_json", "read"]

FORMATS = ("jsonl", "chatgpt", "messages", "locomo")


def read(data: bytes, session: str, format: str = "auto") -> tuple[str, Iterator[Row]]:
    """Returns the name of the format and the rows. A message that names no session belongs to `session`.

    Raises `InvalidInput` where the data is in none of `FORMATS`, or not in `format`."""
    if format in ("auto", "jsonl"):
        first = [line for _, line in islice(objects(data), 20)]
        lines = [line for line in first if isinstance(line, Mapping)]
        if not first:
            raise InvalidInput("nothing in it (give a file of messages)")
        if format == "jsonl" or (lines and not (len(first) == 1 and detect(lines[0]))):
            return "jsonl", read_jsonl(data, session)
    document = parse_json(data)
    detected = detect(document)
    if detected is None or format not in ("auto", detected):
        expected = "a known format" if format == "auto" else format
        raise InvalidInput(f"not {expected} (known are JSON Lines of messages, a ChatGPT export, {{'messages': […]}}, LoCoMo)")
    return detected, _READERS[detected](document, session)


def detect(document: Any) -> str | None:
    """The format of a JSON document; None where the document is in no known format."""
    if isinstance(document, Mapping):
        conversation = document.get("conversation")
        if isinstance(conversation, Mapping) and any(str(key).startswith("session_") for key in conversation):
            return "locomo"
        if isinstance(document.get("messages"), list):
            return "messages"
        return "chatgpt" if isinstance(document.get("mapping"), Mapping) else None
    if isinstance(document, list) and document:
        maps = [entry for entry in document if isinstance(entry, Mapping)]
        if any("mapping" in entry for entry in maps):
            return "chatgpt"
        if any("role" in entry or isinstance(entry.get("messages"), list) for entry in maps):
            return "messages"
    return None


def parse_json(data: bytes) -> Any:
    """Parse one JSON document in UTF-8. Raises `InvalidInput`."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidInput("not JSON that can be read: nested too deep, or a number too long") from None


def _read_messages(document: Any, session: str) -> Iterator[Row]:
    """Rows of a list of messages, of an object with `messages`, or of a list of such objects."""
    naming = MessageNaming()
    if isinstance(document, list) and any(isinstance(entry, Mapping) and "role" in entry for entry in document):
        yield from read_messages(document, session, naming)
        return
    conversations = document if isinstance(document, list) else [document]
    for number, conversation in enumerate(conversations, start=1):
        fields = conversation if isinstance(conversation, Mapping) else {}
        messages, own_id = fields.get("messages"), fields.get("session") or fields.get("id")
        fallback = session if len(conversations) == 1 else f"{session}-{number}"
        prefix = "" if len(conversations) == 1 else f"conversation {number}, "
        yield from read_messages(
            messages if isinstance(messages, list) else [None], own_id if isinstance(own_id, str) else fallback, naming, prefix
        )


def _read_chatgpt(document: Any, session: str) -> Iterator[Row]:
    return read_chatgpt(document if isinstance(document, list) else [document], session)


_READERS: Mapping[str, Callable[[Any, str], Iterator[Row]]] = MappingProxyType(
    {"locomo": read_locomo, "messages": _read_messages, "chatgpt": _read_chatgpt}
)
