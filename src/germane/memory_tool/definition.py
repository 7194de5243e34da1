"""Definition: how the memory tool is declared to a model, in the shape of each provider."""

from __future__ import annotations

from typing import Any

from germane.errors import UnknownName
from germane.memory_tool.commands import COMMANDS
from germane.types.limits import shown

__all__ = ["NAME", "PROVIDERS", "definition"]

NAME = "memory"
PROVIDERS = ("anthropic", "openai", "openai-responses", "gemini", "json")
_WHAT = (
    "Your own memory: text files under /memories that stay between conversations. View /memories before you begin, keep the"
    " files short and up to date, and note what you will need later. Files under /memories/system are always shown to you;"
    " others only when you view them. `view` shows a directory or the numbered lines of a file. `create` makes a new file."
    " `str_replace` replaces a text that occurs exactly once in a file. `insert` adds lines after a line (0: at the beginning)."
    " `delete` and `rename` take a file or a directory."
)


def definition(provider: str, *, hashes: bool = False) -> dict[str, Any]:
    """Returns the tool in the shape of `provider`: Anthropic's own memory tool, a function of OpenAI's chat completions or
    responses, a function declaration of Gemini's, or (`json`) its name, description and JSON schema. `hashes` adds `if_hash` to
    the schema. Raises `UnknownName`."""
    if provider == "anthropic":
        return {"type": "memory_20250818", "name": NAME}
    function = {"name": NAME, "description": _WHAT, "parameters": _schema(hashes)}
    match provider:
        case "openai":
            return {"type": "function", "function": function}
        case "openai-responses":
            return {"type": "function", **function, "strict": False}
        case "gemini" | "json":
            return function
    raise UnknownName(f"provider must be one of {', '.join(PROVIDERS)}, not {shown(provider)}")


def _schema(hashes: bool) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "command": {"type": "string", "enum": list(COMMANDS), "description": "What to do."},
        "path": _string("The file or directory, such as /memories/notes.md; for every command but rename."),
        "view_range": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "For view of a file: its first and its last line to show, such as [1, 20]; -1 is the end.",
        },
        "file_text": _string("For create: the content of the new file."),
        "old_str": _string("For str_replace: the text to replace, exactly as it stands in the file."),
        "new_str": _string("For str_replace: the text to put in its place."),
        "insert_line": {"type": "integer", "description": "For insert: the line to insert after; 0 is the beginning."},
        "insert_text": _string("For insert: the lines to insert."),
        "old_path": _string("For rename: the present path."),
        "new_path": _string("For rename: the new path, where nothing is yet."),
        "reason": _string("Why you make the change, in a few words; it is kept in the history."),
    }
    if hashes:
        fields["if_hash"] = _string(
            "The content_sha256 that view showed, for a change of that file: it is refused where the file has changed since."
        )
    return {"type": "object", "properties": fields, "required": ["command"]}


def _string(description: str) -> dict[str, str]:
    return {"type": "string", "description": description}
