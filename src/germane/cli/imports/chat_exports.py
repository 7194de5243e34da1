"""Chat exports: reads the data exports of ChatGPT and Claude as rows.

ChatGPT's `conversations.json` is a list of message trees. Of each tree the branch that was visible is read: from
`current_node` up to the root, or the branch that ends in the newest message where `current_node` is missing or names no
node. A message without a time has that of the message before it, the first one that of the conversation. Hidden and empty
nodes are skipped without a report; messages of other branches are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from germane.cli.imports.rows import DocumentRow, MemoryRow, Row, parse_message
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, MessageRow, Remark

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
        branch = _chatgpt_branch(mapping, conversation.get("current_node"))
        beside += sum(_is_visible(mapping[node]) for node in mapping.keys() - branch)
        time = conversation.get("create_time")
        for node in branch:
            message = mapping[node].get("message")
            if not isinstance(message, Mapping) or _hidden(message):
                continue
            fields = _chatgpt_fields(message, node)
            if (given := fields["created_at"]) is None and _is_time(time):
                fields["created_at"] = time = time + _STEP
            time = time if given is None else given
            try:
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(f"{where}, node {node[:40]}", str(error))
    if beside:
        yield Remark("messages of other branches", beside)


def _is_visible(node: Any) -> bool:
    message = node.get("message") if isinstance(node, Mapping) else None
    return isinstance(message, Mapping) and not _hidden(message)


def _is_time(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _chatgpt_branch(mapping: Mapping[str, Any], current: Any) -> list[str]:
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
    return hidden or not any(part.strip() if isinstance(part, str) else part for part in _chatgpt_content(message))


def _chatgpt_content(message: Mapping[str, Any]) -> list[Any]:
    content = message.get("content")
    if not isinstance(content, Mapping):
        return [content] if isinstance(content, str) else []
    parts = content.get("parts")
    if isinstance(parts, list):
        return [part for part in parts if isinstance(part, str | Mapping) and part]
    return [text for name in ("text", "result") if isinstance(text := content.get(name), str)]


def _chatgpt_fields(message: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The message's fields as `parse_message` reads them."""
    author = message.get("author")
    speaker: Mapping[str, Any] = author if isinstance(author, Mapping) else {}
    return {
        "role": speaker.get("role"),
        "name": speaker.get("name"),
        "content": _chatgpt_content(message),
        "id": message.get("id") or node,
        "created_at": message.get("create_time"),
    }


# Claude's conversations, with `chat_messages`. Where messages name their parents, the branch that ends in the current
# message is read, or in the newest one; else all of them in their order. A message is its text, the artifacts and files
# that it makes, its other calls of tools and their results, and the text of its attachments; thinking isn't read.


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
        branch = _claude_branch(said, conversation.get("current_leaf_message_uuid"))
        beside += len(said) - len(branch)
        for place, message in enumerate(branch, start=1):
            files += _unread_files(message)
            fields = _claude_fields(message)
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


def _claude_branch(messages: Sequence[Mapping[str, Any]], current: Any) -> list[Mapping[str, Any]]:
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


def _claude_fields(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message's fields as `parse_message` reads them."""
    blocks = message.get("content")
    parts = [part for block in blocks if (part := _claude_part(block))] if isinstance(blocks, list) else []
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


def _claude_part(block: Any) -> Mapping[str, Any] | None:
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
            said = [part for each in inner if (part := _result_part(each))] if isinstance(inner, list) else inner
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


def _result_part(value: Any) -> Any:
    """A part of a tool's result, without pictures and what else is no text."""
    return value if isinstance(value, str) or (isinstance(value, Mapping) and value.get("type") != "image") else None


def _unread_files(message: Mapping[str, Any]) -> int:
    """How many uploaded files the message only names. A file whose text came along stands among the attachments too."""
    read = [attachment.get("file_name") for attachment in _listed(message, "attachments")]
    return sum(file.get("file_name") not in read for file in _listed(message, "files"))


def _listed(message: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = message.get(name)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


# What Claude's export has beside the conversations: `memories.json` and projects. What Claude has noted about the user,
# and about each project, becomes a note; the documents of a project become documents. A project's instructions are left
# out and counted: an order to the agent is set with `germane directive`, by the user.


_FILE = re.compile(r"(?:^|/)(memories|projects)(?:\.json|/[^/]+\.json)$")
_MAX_SOURCE = 100
"""Characters of a project's and of a document's name in the document's source."""


def account_file(name: str) -> str:
    """Returns "memories" or "projects" for a file of the export with this name, "" for any other."""
    found = _FILE.search(name)
    return found[1] if found else ""


def read_account(kind: str, content: Any, name: str) -> Iterator[Row]:
    """Rows of the file called `name`."""
    entries = content if isinstance(content, list) else [content]
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, Mapping):
            yield BrokenRow(f"{name}, entry {number}", f"must be an object, not {type(entry).__name__}")
        elif kind == "memories":
            yield from _memories(entry, name)
        else:
            yield from _project(entry, name)


def _memories(entry: Mapping[str, Any], name: str) -> Iterator[Row]:
    noted = [("Claude's memory of the user", entry.get("conversations_memory"))]
    projects = entry.get("project_memories")
    if isinstance(projects, Mapping):
        noted += ((f"Claude's memory of the project {str(id)[:100]}", text) for id, text in projects.items())
    for title, text in noted:
        if isinstance(text, str) and text.strip():
            origin = {"source_kind": "import", "channel": "claude", "refs": [name[-256:]]}
            yield MemoryRow({"kind": "note", "title": title, "body": text, "provenance": origin})
            yield Remark("notes of memories.json", left_out=False)


def _project(entry: Mapping[str, Any], name: str) -> Iterator[Row]:
    project = next((entry[key] for key in ("name", "uuid") if isinstance(entry.get(key), str) and entry[key]), "project")
    docs = entry.get("docs")
    for number, doc in enumerate(docs if isinstance(docs, list) else [], start=1):
        text = doc.get("content") if isinstance(doc, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            yield BrokenRow(f"{name}, document {number}", "has no content")
            continue
        title = doc.get("filename") if isinstance(doc.get("filename"), str) and doc["filename"] else f"document {number}"
        source = f"claude/{str(entry.get('uuid') or project)[:_MAX_SOURCE]}/{title[:_MAX_SOURCE]}"
        yield DocumentRow(source, f"{project} / {title}"[:200], text)
        yield Remark("documents of projects", left_out=False)
    for key in ("prompt_template", "description"):
        if isinstance(entry.get(key), str) and entry[key].strip():
            yield Remark(f"{'instructions' if key == 'prompt_template' else 'descriptions'} of projects")
