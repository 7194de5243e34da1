"""ChatGPT exports: `conversations.json`, a list of trees of messages.

Of each tree the branch that was on screen is read: from `current_node` up to the root. Where that is missing, the branch that
ends in the newest message. Hidden and empty nodes are not messages and are passed over in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from germane.cli.imports.row import Broken, Row, Turn
from germane.cli.imports.turn import Naming, turn
from germane.errors import InvalidInput

__all__ = ["read_chatgpt"]


def read_chatgpt(conversations: list[Any], session: str) -> Iterator[Row]:
    """Rows of every conversation; each is a session called by its own id, or `session` and its number."""
    naming = Naming()
    for number, conversation in enumerate(conversations, start=1):
        where = f"conversation {number}"
        mapping = conversation.get("mapping") if isinstance(conversation, Mapping) else None
        if not isinstance(mapping, Mapping):
            yield Broken(where, "has no mapping of messages")
            continue
        own = conversation.get("conversation_id") or conversation.get("id")
        chosen = own if isinstance(own, str) else f"{session}-{number}"
        for node in _branch(mapping, conversation.get("current_node")):
            raw = mapping[node].get("message")
            if not isinstance(raw, Mapping) or _hidden(raw):
                continue
            try:
                yield Turn(chosen, turn(_flat(raw, node), chosen, naming))
            except InvalidInput as error:
                yield Broken(f"{where}, node {node[:40]}", str(error))


def _branch(mapping: Mapping[str, Any], current: Any) -> list[str]:
    """Node ids from the root to `current`; a cycle or a dangling parent ends it."""
    node = current if isinstance(current, str) and current in mapping else _newest(mapping)
    branch: list[str] = []
    seen: set[str] = set()
    while isinstance(node, str) and node not in seen and isinstance(mapping.get(node), Mapping):
        branch.append(node)
        seen.add(node)
        node = mapping[node].get("parent")
    return branch[::-1]


def _newest(mapping: Mapping[str, Any]) -> str | None:
    def said(node: str) -> float:
        message = mapping[node].get("message") if isinstance(mapping[node], Mapping) else None
        when = message.get("create_time") if isinstance(message, Mapping) else None
        return float(when) if isinstance(when, int | float) else float("-inf")

    parents = {node["parent"] for node in mapping.values() if isinstance(node, Mapping) and isinstance(node.get("parent"), str)}
    leaves = [node for node in mapping if node not in parents]
    return max(leaves, key=said, default=None)


def _hidden(raw: Mapping[str, Any]) -> bool:
    metadata = raw.get("metadata")
    hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation") is True
    return hidden or not any(part.strip() if isinstance(part, str) else part for part in _content(raw))


def _content(raw: Mapping[str, Any]) -> list[Any]:
    content = raw.get("content")
    if not isinstance(content, Mapping):
        return [content] if isinstance(content, str) else []
    parts = content.get("parts")
    if isinstance(parts, list):
        return [part for part in parts if isinstance(part, str | Mapping) and part]
    return [text for name in ("text", "result") if isinstance(text := content.get(name), str)]


def _flat(raw: Mapping[str, Any], node: str) -> dict[str, Any]:
    author = raw.get("author")
    who: Mapping[str, Any] = author if isinstance(author, Mapping) else {}
    return {
        "role": who.get("role"),
        "name": who.get("name"),
        "content": _content(raw),
        "id": raw.get("id") or node,
        "created_at": raw.get("create_time"),
    }
