"""Codex reader: reads transcripts of Codex (rollouts) as sessions, named after the project.

A line wraps an item of the Responses API in `payload`; in older files it is the item itself. Reasoning, summaries, and what the
client tells the model of itself are left out and counted; its events repeat the items.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from germane.api.provider_messages import read_message
from germane.cli.imports.claude_code import SkippedSteps, project_session
from germane.cli.imports.message_fields import MessageNaming
from germane.cli.imports.rows import BrokenRow, MessageRow, Row
from germane.errors import InvalidInput

__all__ = ["is_codex", "read_codex"]

_WRAPPED = ("compacted", "event_msg", "response_item", "session_meta", "turn_context")
_ITEMS = (
    "custom_tool_call", "custom_tool_call_output", "function_call", "function_call_output", "local_shell_call",
    "local_shell_call_output", "message", "reasoning", "web_search_call",
)  # fmt: skip
"""The types of the items in older files."""
_UNSAID = ("compaction", "ghost_snapshot", "other", "reasoning")
_OF_CLIENT = ("<environment_context>", "<user_instructions>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<turn_aborted>")


def is_codex(line: Mapping[str, Any]) -> bool:
    """Returns whether the line is one of a transcript: wrapped, or the first of an older file."""
    wrapped = line.get("type") in _WRAPPED and isinstance(line.get("payload"), Mapping)
    return wrapped or ("type" not in line and {"id", "timestamp", "instructions"} <= set(line))


def read_codex(lines: Iterable[tuple[int, Mapping[str, Any] | str]], session: str, skipped: SkippedSteps) -> Iterator[Row]:
    """Rows of a transcript. Without the line that names its session it belongs to `session`."""
    naming = MessageNaming()
    for number, line in lines:
        if isinstance(line, str):
            yield BrokenRow(f"line {number}", line)
            continue
        payload = line.get("payload")
        kind = line.get("type")
        if (kind == "session_meta" and isinstance(payload, Mapping)) or (kind is None and "id" in line):
            meta = payload if isinstance(payload, Mapping) else line
            session = (
                project_session(meta.get("cwd"), meta["id"]) if isinstance(meta.get("id"), str) and meta["id"] else session
            )
            continue
        if kind == "compacted":
            skipped.counts["summaries of what stands above them"] += 1
        item = payload if kind == "response_item" and isinstance(payload, Mapping) else line if kind in _ITEMS else None
        if item is None or item.get("type") in _UNSAID:
            continue
        try:
            if row := _row(item, line.get("timestamp"), session, naming, skipped):
                yield row
        except InvalidInput as error:
            yield BrokenRow(f"line {number}", str(error))


def _row(item: Mapping[str, Any], time: Any, session: str, naming: MessageNaming, skipped: SkippedSteps) -> MessageRow | None:
    given = {key: value for key, value in item.items() if key not in ("id", "created_at")}
    message = read_message(given, "openai-responses")
    if message.role == "user" and message.text.lstrip().startswith(_OF_CLIENT):
        skipped.counts["messages of the client's own"] += 1
        return None
    if not message.content.strip():
        return None
    named = {**item, "id": naming.name(session, message.role, message.content)}
    if isinstance(time, str):
        named["created_at"] = time
    return MessageRow(session, read_message(named, "openai-responses"), named)
