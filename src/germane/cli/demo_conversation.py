"""Demo conversation: the sample or whatever `germane import` takes, and the labelled requests that come with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from germane.cli.files import read_bytes
from germane.cli.imports import Row, read
from germane.cli.imports.detect_format import parse_json
from germane.cli.imports.export_file import ExportFile
from germane.cli.imports.load import load
from germane.cli.imports.locomo import ADVERSARIAL, questions
from germane.evaluate.made_requests import MadeRequest, thanks

__all__ = ["DemoConversation", "load_conversation", "sample"]

_CATEGORIES = ("", "several things", "a time", "a conclusion", "one thing")
_LABELLED = 4


class DemoConversation(NamedTuple):
    """What is imported, and the requests that come with it: none where they are made from the store."""

    loaded: ExportFile | tuple[str, list[Row]]
    requests: tuple[MadeRequest, ...] = ()


def sample() -> DemoConversation:
    """The included talk of one person with an assistant, and five requests with their answers."""
    folder = files("germane.cli") / "sample"
    form, rows = read((folder / "conversation.jsonl").read_bytes(), "sample")
    asked = json.loads((folder / "requests.json").read_text(encoding="utf-8"))
    at = datetime.fromisoformat(asked["at"])
    labels = ({**one, "evidence": tuple(one.get("evidence", ()))} for one in asked["requests"])
    requests = (MadeRequest(at=at, all_needed=True, **one) for one in labels)
    return DemoConversation((form, list(rows)), tuple(requests))


def load_conversation(path: str) -> DemoConversation:
    """What a file, a folder or standard input holds; a LoCoMo file's own questions. Raises `InvalidInput`."""
    found = load(path)
    loaded = (found[0], list(found[1])) if isinstance(found, tuple) else found
    labelled = isinstance(loaded, tuple) and loaded[0] == "locomo" and Path(path).suffix == ".json"
    return DemoConversation(loaded, _labelled(parse_json(read_bytes(path))) if labelled else ())


def _labelled(document: Mapping[str, Any]) -> tuple[MadeRequest, ...]:
    """The first question of each of four categories of a LoCoMo file, so that they differ in kind."""
    first = {one.category: one for one in reversed(list(questions(document))) if one.category != ADVERSARIAL}
    asked = [
        MadeRequest(text=one.question, kind=_CATEGORIES[category], answer=one.answer, evidence=one.evidence, all_needed=True)
        for category, one in sorted(first.items())
        if category < len(_CATEGORIES)
    ]
    return (*asked[:_LABELLED], thanks()) if asked else ()
