"""Shown entry: an entry of the archive as a text for a reader: who said what, or the one output that was masked."""

from __future__ import annotations

from germane.compaction.archive import ArchiveEntry
from germane.dialects.registry import parse
from germane.errors import InvalidInput
from germane.types.message import Message

__all__ = ["shown_entry"]


def shown_entry(entry: ArchiveEntry) -> str:
    """Returns the text. A message that can't be read any more is named as such. Raises nothing."""
    if entry.kind == "output" and len(entry.messages) == 1:
        message = _read(entry, 0)
        results = () if message is None else message.tool_results
        if entry.part < len(results):
            return results[entry.part].text
    return "\n\n".join(_said(_read(entry, place)) for place in range(len(entry.messages)))


def _read(entry: ArchiveEntry, place: int) -> Message | None:
    try:
        return parse(entry.messages[place], entry.provider)
    except InvalidInput:
        return None


def _said(message: Message | None) -> str:
    if message is None:
        return "[a message that can't be read]"
    return f"{message.name or message.role}: {message.content}"
