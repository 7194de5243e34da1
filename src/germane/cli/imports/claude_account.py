"""Claude account: what stands in Claude's data export beside the conversations: `memories.json` and projects.

What Claude has noted about the user, and about each project, becomes a note; the documents of a project become documents. A
project's instructions are left out and counted: an order to the agent is set with `germane directive`, by the user.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from germane.cli.imports.rows import BrokenRow, DocumentRow, MemoryRow, Remark, Row

__all__ = ["account_file", "read_account"]

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
