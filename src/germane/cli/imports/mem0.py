"""mem0 reader: reads memories as mem0 lists them (`memory`, `user_id`, `metadata`, `categories`, times) as rows.

A memory becomes a note that is valid since mem0 last changed it, with the categories as tags; mem0's id and metadata stay in
its provenance. Without a user in the import's scope it goes to the user that it names, or is agent-wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.cli.imports.message_fields import parse_time
from germane.cli.imports.rows import BrokenRow, MemoryRow, Row
from germane.errors import InvalidInput

__all__ = ["listed_memories", "read_mem0"]


def listed_memories(document: Any) -> Sequence[Any] | None:
    """The memories in a document of mem0's, None where it isn't one."""
    found = document
    if isinstance(document, Mapping):
        found = next((document[name] for name in ("results", "memories") if isinstance(document.get(name), list)), None)
    if not isinstance(found, list):
        return None
    return found if any(isinstance(one, Mapping) and isinstance(one.get("memory"), str) for one in found) else None


def read_mem0(document: Any, session: str) -> Iterator[Row]:
    """Rows of every memory. `session` isn't used: a memory belongs to none."""
    for number, memory in enumerate(listed_memories(document) or (), start=1):
        where = f"memory {number}"
        if not isinstance(memory, Mapping) or not isinstance(memory.get("memory"), str):
            yield BrokenRow(where, "has no text in its field memory")
            continue
        user = memory.get("user_id")
        try:
            since = parse_time(memory.get("updated_at") or memory.get("created_at"))
        except InvalidInput:
            yield BrokenRow(where, "updated_at or created_at isn't a time in ISO 8601")
            continue
        tags = memory.get("categories")
        known = {name: memory[name] for name in ("agent_id", "run_id", "created_at") if isinstance(memory.get(name), str)}
        metadata = memory.get("metadata")
        fields = {
            "kind": "note",
            "body": memory["memory"],
            "tags": [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
            "valid_from": None if since is None else since.isoformat(),
            "provenance": {
                "source_kind": "import",
                "channel": "mem0",
                "refs": [memory["id"]] if isinstance(memory.get("id"), str) else [],
                "metadata": known | (dict(metadata) if isinstance(metadata, Mapping) else {}),
            },
        }
        yield MemoryRow(fields, user if isinstance(user, str) and user else None)
