"""Shown entry: an entry of the archive as a text for a reader: who said what, or the one output that was masked."""

from __future__ import annotations

from germane.compaction.archive import ArchiveEntry
from germane.compaction.message_json import from_json
from germane.dialects.registry import parse
from germane.errors import InvalidInput
from germane.types.message import Message, Text, ToolCall, ToolResult

__all__ = ["shown_entry"]


def shown_entry(entry: ArchiveEntry) -> str:
    """Returns the text. A message that can't be read any more is named as such. Raises nothing."""
    messages = [_read(entry, place) for place in range(len(entry.messages))]
    if entry.kind == "output" and len(messages) == 1 and messages[0] is not None:
        results = messages[0].tool_results
        if entry.part < len(results):
            return results[entry.part].text
    return "\n\n".join(map(_said, messages))


def _read(entry: ArchiveEntry, place: int) -> Message | None:
    try:
        return parse(from_json(entry.messages[place]), entry.provider)
    except (InvalidInput, KeyError, TypeError, ValueError):
        return None


def _said(message: Message | None) -> str:
    if message is None:
        return "[a message that can't be read]"
    lines: list[str] = []
    for part in message.parts:
        match part:
            case Text(text):
                lines.append(text)
            case ToolCall():
                lines.append(f"→ {part.name}({part.arguments})")
            case ToolResult():
                lines.append(f"← {part.text}")
            case _:
                lines.append(f"[{type(part).__name__.lower()}]")
    return f"{message.name or message.role}: " + "\n".join(lines)
