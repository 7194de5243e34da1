"""Product exports: files as chat products write them, and archives of them."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

__all__ = ["chat", "named_files", "zipped"]


def zipped(files: dict[str, Any], **options: Any) -> io.BytesIO:
    """An archive of these files: text as it stands, anything else as JSON."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str) else json.dumps(content), **options)
    stream.seek(0)
    return stream


def chat(id: str, *turns: tuple[str, str]) -> dict[str, Any]:
    """A conversation as ChatGPT exports it."""
    nodes: dict[str, Any] = {f"{id}-root": {"id": f"{id}-root", "parent": None, "children": [], "message": None}}
    parent = f"{id}-root"
    for number, (role, text) in enumerate(turns):
        node = f"{id}-{number}"
        kind = {"content_type": "code", "text": text} if role == "tool" else {"content_type": "text", "parts": [text]}
        message: dict[str, Any] = {
            "id": node,
            "author": {"role": role, "name": "python" if role == "tool" else None},
            "content": kind,
        }
        nodes[node] = {
            "id": node,
            "parent": parent,
            "children": [],
            "message": message | {"create_time": 1_700_000_000.5 + number},
        }
        parent = node
    return {"title": None, "conversation_id": id, "mapping": nodes, "current_node": parent}


def named_files(text: str, name: str) -> dict[str, tuple[str, str]]:
    """A file of each format that an import takes, by format: its name and its content, with this text in each place that has
    one, and `name` wherever something has a name."""
    call = {"id": name, "function": {"name": name, "arguments": json.dumps({name: text})}}
    said = [
        {"role": "user", "content": text, "name": name, "id": name, "session": name},
        {"role": "assistant", "content": [text, {"type": "text", "text": text}], "tool_calls": [call], "session": name},
        {"role": "tool", "content": text, "tool_call_id": name, "name": name, "session": name},
    ]
    source: dict[str, Any] = {
        "source_kind": "import",
        "channel": name,
        "session": name,
        "message_id": name,
        "tool_call_id": name,
    }
    source |= {"refs": [name], "metadata": {name: {name: 1}}}
    kept = [
        {"type": "memory", "kind": "note", "body": text, "title": name, "tags": [name[:40]], "provenance": source},
        {"type": "memory", "kind": "fact", "key": name, "value": text},
    ]
    conversation = chat(name, ("user", text), ("assistant", text), ("tool", text)) | {"title": name, "conversation_id": name}
    claude: dict[str, Any] = {"uuid": name, "name": name, "chat_messages": []}
    claude["chat_messages"] = [
        {"uuid": name, "sender": "human", "text": text, "attachments": [{"file_name": name, "extracted_content": text}]},
        {
            "uuid": f"{name}2",
            "sender": "assistant",
            "content": [{"type": "text", "text": text}, {"type": "tool_use", "name": name}],
        },
    ]
    mem0 = {"id": name, "memory": text, "categories": [name[:40]], "metadata": {name: text}, "agent_id": name, "run_id": name}
    letta = {
        "agents": [{"id": name, "messages": [{"role": "user", "content": text, "name": name}]}],
        "blocks": [{"label": name, "value": text, "id": name}, {"label": "persona", "value": text}],
        "passages": [{"text": text, "id": name, "tags": [name[:40]]}],
    }
    turn = {"speaker": name, "dia_id": "D1:1", "text": text}
    locomo = {"sample_id": name, "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [turn]}}
    return {
        "jsonl": ("a.jsonl", "\n".join(map(json.dumps, [*said, *kept]))),
        "messages": ("a.json", json.dumps({"messages": said})),
        "chatgpt": ("conversations.json", json.dumps([conversation])),
        "claude": ("conversations.json", json.dumps([claude])),
        "mem0": ("a.json", json.dumps({"results": [mem0]})),
        "letta": ("a.af", json.dumps(letta)),
        "instructions": ("AGENTS.md", f"# {name}\n\n{text}\n"),
        "notes": (f"{name[:60]}.md", f"# {name}\n\n{text}\n"),
        "locomo": ("a.json", json.dumps(locomo)),
    }
