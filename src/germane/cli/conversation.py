"""Conversation: what the demo talks about, and the questions it asks: its own sample, or a file of yours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from germane.cli.imports import Directed, Remembered, Row, Turn, read
from germane.cli.imports.detect import document
from germane.cli.imports.locomo import Asked, questions
from germane.cli.reading import read_bytes
from germane.errors import InvalidInput

__all__ = ["given", "sample"]

_GENERIC = (
    "What was decided, and what has changed since?",
    "What should be remembered about the people?",
    "When did it begin?",
)


def sample() -> tuple[list[Row], list[Asked]]:
    """The project's own: its directive and memories first, then what was said."""
    folder = files("germane.cli") / "sample"
    _, rows = read((folder / "conversation.jsonl").read_bytes(), "sample")
    kept = json.loads((folder / "memories.json").read_text(encoding="utf-8"))
    return [Directed(kept["directive"]), *map(Remembered, kept["memories"]), *rows], _plainly(kept["questions"])


def given(conversation: str) -> tuple[list[Row], list[Asked]]:
    """A file that `germane import` reads. Raises `InvalidInput`."""
    data = read_bytes(conversation)
    called = "demo" if conversation == "-" else Path(conversation).stem[:200] or "demo"
    try:
        kind, found = read(data, called)
    except InvalidInput as error:
        raise InvalidInput(f"{conversation}: {error}") from None
    rows = list(found)
    return rows, _from_labels(document(data)) if kind == "locomo" else _plainly(_from_talk(rows))


def _from_labels(found: Mapping[str, Any]) -> list[Asked]:
    """The first question of three categories, so that the demo asks different things."""
    first = {asked.category: asked for asked in reversed(list(questions(found))) if asked.category != 5}
    return [first[category] for category in sorted(first)][:3] or _plainly(_GENERIC)


def _plainly(texts: Sequence[str]) -> list[Asked]:
    return [Asked(text, "", (), 0) for text in texts]


def _from_talk(rows: list[Row]) -> list[str]:
    """Questions that were asked in the conversation itself, from its beginning, middle and end; else some that always fit."""
    said = [line.strip() for row in rows if isinstance(row, Turn) for line in [row.message.text] if len(line) < 160]
    found = [line for line in said if line.endswith(("?", "？")) and len(line) > 12]
    return [found[at * (len(found) - 1) // 2] for at in range(3)] if len(found) >= 3 else list(_GENERIC)
