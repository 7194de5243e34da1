"""Claude reader: reads Claude's data export, conversations with `chat_messages`, as rows.

Where messages name their parents, the branch that ends in the current message is read, or in the newest one; else all of them
in their order. A message is its text, tool calls and results, and the text of its attachments; thinking isn't read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, MessageRow, Row
from germane.errors import InvalidInput

__all__ = ["read_claude"]


def read_claude(conversations: Sequence[Any], session: str) -> Iterator[Row]:
    """Rows of every conversation. A session's id is the conversation's own id, or else `session` with a number."""
    naming = MessageNaming()
    for number, conversation in enumerate(conversations, start=1):
        where = f"conversation {number}"
        messages = conversation.get("chat_messages") if isinstance(conversation, Mapping) else None
        if not isinstance(messages, list):
            yield BrokenRow(where, "has no chat_messages")
            continue
        own_id = conversation.get("uuid")
        session_id = own_id if isinstance(own_id, str) and own_id else f"{session}-{number}"
        said = [message for message in messages if isinstance(message, Mapping)]
        for place, message in enumerate(_branch(said, conversation.get("current_leaf_message_uuid")), start=1):
            fields = _fields(message)
            if not fields["content"]:
                continue
            try:
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(f"{where}, message {place}", str(error))


def _branch(messages: Sequence[Mapping[str, Any]], current: Any) -> list[Mapping[str, Any]]:
    """The messages from the first one to the current one."""
    by_id = {message["uuid"]: message for message in messages if isinstance(message.get("uuid"), str)}
    above = [message.get("parent_message_uuid") for message in messages]
    parents = {parent for parent in above if isinstance(parent, str) and parent in by_id}
    if not parents:
        return list(messages)
    leaves = [id for id in by_id if id not in parents]
    newest = max(leaves, key=lambda leaf: _time(by_id[leaf]), default=None)
    node = current if isinstance(current, str) and current in by_id else newest
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    while isinstance(node, str) and node in by_id and node not in seen:
        seen.add(node)
        branch.append(by_id[node])
        node = by_id[node].get("parent_message_uuid")
    return branch[::-1]


def _time(message: Mapping[str, Any]) -> str:
    time = message.get("created_at")
    return time if isinstance(time, str) else ""


def _fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message's fields as `parse_message` reads them."""
    blocks = message.get("content")
    texts = [text for block in blocks if (text := _text(block))] if isinstance(blocks, list) else []
    if not texts and isinstance(message.get("text"), str) and message["text"].strip():
        texts = [message["text"]]
    attachments = message.get("attachments")
    for attachment in attachments if isinstance(attachments, list) else ():
        content = attachment.get("extracted_content") if isinstance(attachment, Mapping) else None
        if isinstance(content, str) and content.strip():
            texts.append(f"[{attachment.get('file_name') or 'attachment'}]\n{content}")
    return {
        "role": message.get("sender"),
        "content": [{"type": "text", "text": text} for text in texts],
        "id": message.get("uuid"),
        "created_at": message.get("created_at"),
    }


def _text(block: Any) -> str:
    """What a block of content says; '' for thinking and for what has no text."""
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else ""
    match block.get("type"):
        case "text":
            text = block.get("text")
            return text if isinstance(text, str) and text.strip() else ""
        case "tool_use":
            return f"[tool {block.get('name') or ''}]".replace(" ]", "]")
        case "tool_result":
            inner = block.get("content")
            texts = [_text(one) for one in inner] if isinstance(inner, list) else [inner if isinstance(inner, str) else ""]
            return "\n".join(text for text in texts if text)
    return ""
