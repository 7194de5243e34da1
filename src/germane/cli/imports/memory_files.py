"""Memory files: reads memories of other products as rows: Letta's agent files, mem0's lists, and Markdown.

Of Letta's agent file (`.af`), the block `persona` becomes a behavior, every other block a note with the block's label as
its title; archival passages become memories, messages conversations. What Letta wraps around a message (its JSON envelope,
heartbeats, the call of `send_message`) is unwrapped, or skipped where it says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from germane.cli.imports.rows import DirectiveRow, MemoryRow, Row, imported_text, parse_message, parse_time
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, MessageRow

_PASSAGES = ("passages", "archival_memory", "archival_passages")
_LEFT_OUT_TYPES = ("heartbeat", "login", "system_alert", "bootup", "package_message")


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
        if envelope["type"] in _LEFT_OUT_TYPES:
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


# mem0 (`memory`, `user_id`, `metadata`, `categories`, times): a memory becomes a note that is valid since mem0 last
# changed it, with the categories as tags; mem0's id and metadata stay in its provenance. Without a user in the import's
# scope it goes to the user that it names, or is agent-wide.


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


# Instructions (AGENTS.md, CLAUDE.md) and memory folders: each section with a text of its own becomes one memory, whose
# title is the path of its headings: a procedure of instructions, a note of a memory folder. Read as a directive, the
# whole file is one text. Lines within a fenced block are no headings.


_HEADING = re.compile(r"(#{1,6})(?=[ \t])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INSTRUCTIONS = frozenset({"agents.md", "claude.md", "gemini.md", "claude.local.md", "copilot-instructions.md"})
_MAX_TITLE = 200
"""Characters."""


def is_instructions(name: str) -> bool:
    """Whether a file of this name holds instructions for an agent."""
    return PurePosixPath(name.replace("\\", "/")).name.lower() in _INSTRUCTIONS


def read_markdown(data: bytes, name: str, *, instructions: bool, directive: bool = False) -> Iterator[Row]:
    """Rows of the file called `name`. Raises `InvalidInput` where it isn't UTF-8 or is empty."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    if not text.strip():
        raise InvalidInput("nothing in it (give a file with some text)")
    return iter([DirectiveRow(text.strip())]) if directive else _memories(text, name, instructions)


def _memories(text: str, name: str, instructions: bool) -> Iterator[Row]:
    stem = PurePosixPath(name.replace("\\", "/")).stem
    for number, (path, body) in enumerate(_sections(imported_text(text)), start=1):
        title = " / ".join(path) or stem
        if "\0" in body:
            yield BrokenRow(f"section {number}", "holds a NUL character: it isn't text")
            continue
        yield MemoryRow(
            {
                "kind": "procedure" if instructions else "note",
                "title": title if len(title) <= _MAX_TITLE else f"{title[: _MAX_TITLE - 1]}…",
                "body": body,
                "provenance": {"source_kind": "import", "channel": "markdown", "refs": [name[-256:]]},
            }
        )


def _sections(text: str) -> Iterator[tuple[list[str], str]]:
    """Each section's headings, from the outermost to its own, and its text without the sections inside it."""
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in [*text.splitlines(), None]:
        opened = _FENCE.match(line) if line is not None else None
        heading = _HEADING.match(line) if line is not None and not fence else None
        if opened and (not fence or (opened[1].startswith(fence) and not (line or "").strip().strip(fence[0]))):
            fence = "" if fence else opened[1]
        if heading is None and line is not None:
            lines.append(line)
            continue
        if body := "\n".join(lines).strip():
            yield [title for _, title in path if title], body
        lines = []
        if heading is not None:
            path = [entry for entry in path if entry[0] < len(heading[1])]
            path.append((len(heading[1]), (line or "")[len(heading[1]) :].strip().rstrip("#").strip()))
