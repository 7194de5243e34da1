"""Demo conversation: the sample or a given file, and the questions that the demo asks about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from germane.cli.files import read_bytes
from germane.cli.imports import DirectiveRow, MemoryRow, MessageRow, Row, read
from germane.cli.imports.detect_format import parse_json
from germane.cli.imports.locomo import ADVERSARIAL, DemoQuestion, questions
from germane.errors import InvalidInput

__all__ = ["load_conversation", "sample"]

_GENERIC = (
    "What was decided, and what has changed since?",
    "What should be remembered about the people?",
    "When did it begin?",
)


def sample() -> tuple[list[Row], list[DemoQuestion]]:
    """The included conversation (directive and memories first, then messages) and its questions."""
    folder = files("germane.cli") / "sample"
    _, rows = read((folder / "conversation.jsonl").read_bytes(), "sample")
    other = json.loads((folder / "memories.json").read_text(encoding="utf-8"))
    return [DirectiveRow(other["directive"]), *map(MemoryRow, other["memories"]), *rows], _unlabelled(other["questions"])


def load_conversation(path: str) -> tuple[list[Row], list[DemoQuestion]]:
    """The rows of a file that `germane import` reads, and questions about it. Raises `InvalidInput`."""
    data = read_bytes(path)
    default_session = "demo" if path == "-" else Path(path).stem[:200] or "demo"
    try:
        format, found = read(data, default_session)
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    rows = list(found)
    return rows, _labelled(parse_json(data)) if format == "locomo" else _unlabelled(_asked_in(rows))


def _labelled(document: Mapping[str, Any]) -> list[DemoQuestion]:
    """The first question of each of three categories of a LoCoMo file, so that the questions differ in kind."""
    labelled = [question for question in questions(document) if question.category != ADVERSARIAL]
    first = {question.category: question for question in reversed(labelled)}
    return [first[category] for category in sorted(first)][:3] or _unlabelled(_GENERIC)


def _unlabelled(texts: Sequence[str]) -> list[DemoQuestion]:
    return [DemoQuestion(text) for text in texts]


def _asked_in(rows: list[Row]) -> list[str]:
    """Three questions from the messages themselves (beginning, middle, end), or general ones where there are fewer."""
    lines = [line.strip() for row in rows if isinstance(row, MessageRow) for line in [row.message.text] if len(line) < 160]
    asked = [line for line in lines if line.endswith(("?", "？")) and len(line) > 12]
    return [asked[third * (len(asked) - 1) // 2] for third in range(3)] if len(asked) >= 3 else list(_GENERIC)
