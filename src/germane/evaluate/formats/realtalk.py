"""REALTALK: reads the REALTALK data set, three weeks of messages between two people, one file for each chat.

The sessions stand at the top of the object, beside `name` (the speakers) and `qa`. The text of a message is its `clean_text`,
and its time its `date_time` (`29.12.2023, 00:51:12`, without a zone). Pictures without a caption have no text and are dropped.
Evidence is labelled by `dia_id`, as in LoCoMo, which has the same authors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.evaluate.formats.dialogue import add_messages, add_questions, read_sessions, time_of
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.json_file import JsonFile

__all__ = ["message_time", "read_realtalk", "talks"]

CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "commonsense"})


def read_realtalk(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each chat. Raises `InvalidInput` naming the file that holds none."""
    for path, document in files:
        found = talks(document)
        if not found:
            raise InvalidInput(f"{path}: no REALTALK chat in it: each needs session_1, session_2, … and qa at its top")
        for number, talk in enumerate(found, start=1):
            draft = Draft(name=path.stem if len(found) == 1 else f"{path.stem}-{number}")
            add_messages(draft, talk, message_time, "clean_text")
            add_questions(draft, talk.get("qa"), CATEGORIES, {})
            yield draft


def talks(document: Any) -> list[Mapping[str, Any]]:
    """The chats of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [talk for talk in listed if isinstance(talk, Mapping) and any(read_sessions(talk))]


def message_time(text: Any) -> datetime | None:
    """The naive time of a text such as `29.12.2023, 00:51:12`; None for anything else."""
    return time_of(text, "%d.%m.%Y, %H:%M:%S")
