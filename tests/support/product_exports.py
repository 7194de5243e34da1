"""Product exports: files as chat products write them, and archives of them."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

__all__ = ["chat", "zipped"]


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
