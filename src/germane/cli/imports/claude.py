"""Claude reader: reads the conversations of Claude's data export, with `chat_messages`, as rows.

Where messages name their parents, the branch that ends in the current message is read, or in the newest one; else all of them
in their order. A message is its text, the artifacts and files that it makes, its other calls of tools and their results, and
the text of its attachments; thinking isn't read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, MessageRow, Remark, Row
from germane.errors import InvalidInput

__all__ = ["read_claude"]

_MADE = ("content", "file_text", "new_str")
"""The fields of a call that hold the text of an artifact or of a file."""
_NAMES = ("title", "path", "id")


def read_claude(conversations: Sequence[Any], session: str) -> Iterator[Row]:
    """Rows of every conversation. A session's id is the conversation's own id, or else `session` with a number."""
    naming = MessageNaming()
    beside = files = 0
    for number, conversation in enumerate(conversations, start=1):
        where = f"conversation {number}"
        messages = conversation.get("chat_messages") if isinstance(conversation, Mapping) else None
        if not isinstance(messages, list):
            yield BrokenRow(where, "has no chat_messages")
            continue
        own_id = conversation.get("uuid")
        session_id = own_id if isinstance(own_id, str) and own_id else f"{session}-{number}"
        said = [message for message in messages if isinstance(message, Mapping)]
        branch = _branch(said, conversation.get("current_leaf_message_uuid"))
        beside += len(said) - len(branch)
        for place, message in enumerate(branch, start=1):
            files += _unread_files(message)
            fields = _fields(message)
            if not fields["content"]:
                continue
            try:
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(f"{where}, message {place}", str(error))
    if beside:
        yield Remark("messages of other branches", beside)
    if files:
        yield Remark("uploaded files, whose content isn't in the export", files)


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
    parts = [part for block in blocks if (part := _part(block))] if isinstance(blocks, list) else []
    if not parts and isinstance(message.get("text"), str) and message["text"].strip():
        parts = [{"type": "text", "text": message["text"]}]
    for attachment in _listed(message, "attachments"):
        content = attachment.get("extracted_content")
        if isinstance(content, str) and content.strip():
            name = attachment.get("file_name") or "attachment"
            parts.append({"type": "document", "title": name, "source": {"type": "text", "data": content}})
    return {
        "role": message.get("sender"),
        "content": parts,
        "id": message.get("uuid"),
        "created_at": message.get("created_at"),
    }


def _part(block: Any) -> Mapping[str, Any] | None:
    """The block as `parse_message` reads it; None for thinking and for what says nothing."""
    if isinstance(block, str):
        block = {"type": "text", "text": block}
    if not isinstance(block, Mapping):
        return None
    match block.get("type"):
        case "text":
            text = block.get("text")
            return block if isinstance(text, str) and text.strip() else None
        case "tool_use":
            return _made(block) or block
        case "tool_result":
            inner = block.get("content")
            said = [part for each in inner if (part := _said(each))] if isinstance(inner, list) else inner
            return {**block, "content": said} if isinstance(said, str | list) and said else None
    return None


def _made(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The text of the artifact or file that a call makes, which is what the assistant says; None for any other call."""
    given = block.get("input")
    if not isinstance(given, Mapping):
        return None
    text = next((given[name] for name in _MADE if isinstance(given.get(name), str) and given[name].strip()), None)
    if text is None:
        return None
    title = next((given[name] for name in _NAMES if isinstance(given.get(name), str) and given[name]), "")
    return {"type": "text", "text": f"[{block.get('name') or 'tool'}{f': {title}' if title else ''}]\n{text}"}


def _said(value: Any) -> Any:
    """A part of a tool's result, without pictures and what else is no text."""
    return value if isinstance(value, str) or (isinstance(value, Mapping) and value.get("type") != "image") else None


def _unread_files(message: Mapping[str, Any]) -> int:
    """How many uploaded files the message only names. A file whose text came along stands among the attachments too."""
    read = [attachment.get("file_name") for attachment in _listed(message, "attachments")]
    return sum(file.get("file_name") not in read for file in _listed(message, "files"))


def _listed(message: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = message.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
