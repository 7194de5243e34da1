"""ChatGPT reader: reads the export `conversations.json`, a list of message trees, as rows.

Of each tree the branch that was visible is read: from `current_node` up to the root, or the branch that ends in the newest
message where `current_node` is missing or names no node. A message without a time has that of the message before it, the first
one that of the conversation. Hidden and empty nodes are skipped without a report; messages of other branches are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, MessageRow, Remark, Row
from germane.errors import InvalidInput

__all__ = ["read_chatgpt"]

_STEP = 0.001
"""Seconds by which a message without a time comes after the one before it."""


def read_chatgpt(conversations: list[Any], session: str) -> Iterator[Row]:
    """Rows of every conversation. A session's id is the conversation's own id, or else `session` with a number."""
    naming = MessageNaming()
    beside = 0
    for number, conversation in enumerate(conversations, start=1):
        where = f"conversation {number}"
        mapping = conversation.get("mapping") if isinstance(conversation, Mapping) else None
        if not isinstance(mapping, Mapping):
            yield BrokenRow(where, "has no mapping of messages")
            continue
        own_id = conversation.get("conversation_id") or conversation.get("id")
        session_id = own_id if isinstance(own_id, str) else f"{session}-{number}"
        branch = _branch(mapping, conversation.get("current_node"))
        beside += sum(_said(mapping[node]) for node in mapping.keys() - branch)
        time = conversation.get("create_time")
        for node in branch:
            message = mapping[node].get("message")
            if not isinstance(message, Mapping) or _hidden(message):
                continue
            fields = _fields(message, node)
            if (given := fields["created_at"]) is None and _is_time(time):
                fields["created_at"] = time = time + _STEP
            time = time if given is None else given
            try:
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(f"{where}, node {node[:40]}", str(error))
    if beside:
        yield Remark("messages of other branches", beside)


def _said(node: Any) -> bool:
    message = node.get("message") if isinstance(node, Mapping) else None
    return isinstance(message, Mapping) and not _hidden(message)


def _is_time(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _branch(mapping: Mapping[str, Any], current: Any) -> list[str]:
    """Node ids from the root to `current`. The walk up stops at a cycle or a missing parent."""
    node = current if isinstance(current, str) and current in mapping else _newest(mapping)
    branch: list[str] = []
    seen: set[str] = set()
    while isinstance(node, str) and node not in seen and isinstance(mapping.get(node), Mapping):
        branch.append(node)
        seen.add(node)
        node = mapping[node].get("parent")
    return branch[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    """The leaf with the newest message, the last in the file where times don't tell; None for an empty tree."""

    def created(node: str) -> float:
        message = mapping[node].get("message") if isinstance(mapping[node], Mapping) else None
        time = message.get("create_time") if isinstance(message, Mapping) else None
        return time if _is_time(time) else float("-inf")

    parents = {node["parent"] for node in mapping.values() if isinstance(node, Mapping) and isinstance(node.get("parent"), str)}
    leaves = [node for node in mapping if node not in parents]
    return max(reversed(leaves), key=created, default=None)


def _hidden(message: Mapping[str, Any]) -> bool:
    """Whether the message was hidden from the conversation or has no content."""
    metadata = message.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation") is True
    return hidden or not any(part.strip() if isinstance(part, str) else part for part in _content(message))


def _content(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if not isinstance(content, Mapping):
        return [content] if isinstance(content, str) else []
    parts = content.get("parts")
    if isinstance(parts, list):
        return [part for part in parts if isinstance(part, str | Mapping) and part]
    return [text for name in ("text", "result") if isinstance(text := content.get(name), str)]


def _fields(message: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The message's fields as `parse_message` reads them."""
    author = message.get("author")
    speaker: Mapping[str, Any] = author if isinstance(author, Mapping) else {}
    return {
        "role": speaker.get("role"),
        "name": speaker.get("name"),
        "content": _content(message),
        "id": message.get("id") or node,
        "created_at": message.get("create_time"),
    }
