"""LoCoMo: reads the LoCoMo data set, long conversations of two people in numbered sessions.

A file holds one object for a conversation (`conversation`, `qa`, `sample_id`) or a list of them. Turns become `user` messages
with the speaker as name and `dia_id` as id; their time is that of their session. Adversarial questions (category 5) have no
answer in the conversation and are dropped.
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

__all__ = ["CATEGORIES", "read_locomo", "samples", "session_time"]

CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"})
_LEFT_OUT = MappingProxyType({5: "adversarial: its answer isn't in the conversation"})


def read_locomo(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each conversation. Raises `InvalidInput` naming the file that holds none."""
    for path, document in files:
        found = samples(document)
        if not found:
            raise InvalidInput(f"{path}: no LoCoMo conversation in it: each needs a conversation with session_1, session_2, …")
        for number, sample in enumerate(found, start=1):
            name = sample.get("sample_id")
            default = path.stem if len(found) == 1 else f"{path.stem}-{number}"
            draft = Draft(name=name if isinstance(name, str) and name else default)
            add_messages(draft, sample["conversation"], session_time)
            add_questions(draft, sample.get("qa"), CATEGORIES, _LEFT_OUT)
            yield draft


def samples(document: Any) -> list[Mapping[str, Any]]:
    """The conversations of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [sample for sample in listed if isinstance(sample, Mapping) and _has_sessions(sample.get("conversation"))]


def session_time(text: Any) -> datetime | None:
    """The naive time of a session such as `1:56 pm on 8 May, 2023`; None for anything else."""
    return time_of(text, "%I:%M %p on %d %B, %Y")


def _has_sessions(conversation: Any) -> bool:
    return isinstance(conversation, Mapping) and any(read_sessions(conversation))
