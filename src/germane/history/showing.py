"""Showing: the tool with which a model reads again what was taken out of its conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from germane.compaction.archive import Archive
from germane.compaction.shown_entry import shown_entry
from germane.dialects.written_tools import convert_tools
from germane.text.injected import earlier_text

__all__ = ["show_earlier", "tool_definition"]

_MAX_CHARACTERS = 20_000
_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "show_earlier",
        "description": "Returns messages or a tool's output that were taken out of this conversation, by the handle in their "
        "place.",
        "parameters": {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "Such as h0a1b2c3d4e5f."},
                "start": {"type": "integer", "description": "The character to begin with, where the text was cut before."},
            },
            "required": ["handle"],
        },
    },
}


def tool_definition(provider: str = "openai") -> Mapping[str, Any]:
    """Returns the tool `show_earlier` in the shape of the provider. Raises `UnknownName` for an unknown one."""
    return convert_tools([_TOOL], provider).tools[0]


def show_earlier(handle: str, archive: Archive, *, start: int = 0, max_characters: int = _MAX_CHARACTERS) -> str:
    """Returns what the archive has under the handle, as text for a tool's result: at most `max_characters` from the character
    `start` on, between two lines by which germane knows its own text again. What can't be found or read is said in the text;
    nothing is raised."""
    try:
        entry = archive.get(handle) if isinstance(handle, str) else None
    except Exception as error:
        return f"The archive can't be read now ({type(error).__name__})."
    if entry is None:
        return "The archive has nothing under this handle."
    before = f"[What was said before: handle {entry.previous}]\n\n" if entry.previous else ""
    text = before + shown_entry(entry)
    start = max(0, start) if isinstance(start, int) else 0
    shown = text[start : start + max_characters]
    rest = len(text) - start - len(shown)
    return earlier_text(handle, f"{shown}\n[{rest} more characters: start={start + len(shown)}]" if rest > 0 else shown)
