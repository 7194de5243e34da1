"""Letta reader: reads an agent file (`.af`): blocks and archival passages as memories, messages as conversations.

The block `persona` becomes a behavior, every other block a note with the block's label as its title. What Letta wraps around a
message (its JSON envelope, heartbeats, the call of `send_message`) is unwrapped, or skipped where it says nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, MemoryRow, MessageRow, Row
from germane.errors import InvalidInput

__all__ = ["is_letta", "read_letta"]

_PASSAGES = ("passages", "archival_memory", "archival_passages")
_SILENT = ("heartbeat", "login", "system_alert", "bootup", "package_message")


def is_letta(document: Any) -> bool:
    """Whether the document is an agent file: `agents` with `blocks`, or in the form before that one agent with its
    `core_memory`."""
    if not isinstance(document, Mapping):
        return False
    several = isinstance(document.get("agents"), list) and isinstance(document.get("blocks"), list)
    return several or (isinstance(document.get("core_memory"), list) and isinstance(document.get("messages"), list))


def read_letta(document: Mapping[str, Any], session: str) -> Iterator[Row]:
    """Rows of the file. Each agent's messages are one session, named after the agent's id, or else `session`."""
    naming = MessageNaming()
    agents = document["agents"] if isinstance(document.get("agents"), list) else [document]
    for number, block in enumerate(_listed(document, "blocks", "core_memory"), start=1):
        yield from _block(block, f"block {number}")
    for holder in (document, *(agent for agent in agents if isinstance(agent, Mapping) and agent is not document)):
        for number, passage in enumerate(_listed(holder, *_PASSAGES), start=1):
            yield from _passage(passage, f"passage {number}")
    for place, agent in enumerate(agents, start=1):
        if not isinstance(agent, Mapping):
            yield BrokenRow(f"agent {place}", f"must be an object, not {type(agent).__name__}")
            continue
        own = agent.get("id") or agent.get("name")
        session_id = own if isinstance(own, str) and own else session if len(agents) == 1 else f"{session}-{place}"
        for number, message in enumerate(_listed(agent, "messages"), start=1):
            where = f"agent {place}, message {number}"
            if not isinstance(message, Mapping):
                yield BrokenRow(where, f"must be an object, not {type(message).__name__}")
                continue
            fields = _fields(message)
            if fields is None:
                continue
            try:
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(where, str(error))


def _listed(holder: Mapping[str, Any], *names: str) -> list[Any]:
    return [one for name in names if isinstance(holder.get(name), list) for one in holder[name]]


def _block(block: Any, where: str) -> Iterator[Row]:
    value = block.get("value") if isinstance(block, Mapping) else None
    if not isinstance(value, str):
        yield BrokenRow(where, "has no text in its field value")
    elif value.strip():
        label = block.get("label") if isinstance(block.get("label"), str) else ""
        content = {"kind": "behavior", "text": value} if label == "persona" else {"kind": "note", "title": label, "body": value}
        yield MemoryRow(content | _origin(block))


def _passage(passage: Any, where: str) -> Iterator[Row]:
    text = passage.get("text") if isinstance(passage, Mapping) else None
    if not isinstance(text, str):
        yield BrokenRow(where, "has no text")
    elif text.strip():
        tags = passage.get("tags")
        valid = {"valid_from": passage["created_at"]} if isinstance(passage.get("created_at"), str) else {}
        yield MemoryRow(
            {"kind": "note", "body": text, "tags": tags if isinstance(tags, list) else []} | valid | _origin(passage)
        )


def _origin(thing: Mapping[str, Any]) -> dict[str, Any]:
    refs = [thing["id"]] if isinstance(thing.get("id"), str) else []
    return {"provenance": {"source_kind": "import", "channel": "letta", "refs": refs}}


def _fields(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """The message's fields as `parse_message` reads them; None where it says nothing."""
    role, content, calls = message.get("role"), message.get("content"), message.get("tool_calls")
    if isinstance(message.get("text"), str) and not content:
        content = message["text"]
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        content = "\n".join(text for text in texts if isinstance(text, str))
    content = content if isinstance(content, str) else ""
    if role == "approval":
        return None
    if role in ("user", "system") and (envelope := _object(content)) is not None and "type" in envelope:
        if envelope["type"] in _SILENT:
            return None
        content = envelope["message"] if isinstance(envelope.get("message"), str) else content
    if isinstance(calls, list) and (sent := [text for call in calls if (text := _sent(call))]):
        content, calls = "\n".join(sent), [call for call in calls if not _sent(call)]
    if role == "tool" and (answer := _object(content)) is not None and answer.get("message") in ("None", None):
        return None  # what send_message answers
    if not content.strip() and not calls:
        return None
    return {
        "role": role,
        "content": content,
        "id": message.get("id"),
        "name": message.get("name") if role == "user" else None,
        "created_at": message.get("created_at"),
        "tool_calls": calls or None,
        "tool_call_id": message.get("tool_call_id"),
    }


def _sent(call: Any) -> str:
    """The text that a call of `send_message` shows to the user; '' for other calls."""
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or function.get("name") != "send_message":
        return ""
    arguments = _object(function.get("arguments"))
    text = arguments.get("message") if arguments is not None else None
    return text if isinstance(text, str) else ""


def _object(text: Any) -> Mapping[str, Any] | None:
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
