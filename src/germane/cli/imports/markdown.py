"""Markdown reader: reads instructions (AGENTS.md, CLAUDE.md) and memory folders, section by section, as rows.

Each section with a text of its own becomes one memory, whose title is the path of its headings: a procedure of instructions, a
note of a memory folder. Read as a directive, the whole file is one text. Lines within a fenced block are no headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from germane.cli.imports.rows import BrokenRow, DirectiveRow, MemoryRow, Row
from germane.errors import InvalidInput
from germane.transfer.imported import imported_text

__all__ = ["is_instructions", "read_markdown"]

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
