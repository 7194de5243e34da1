"""LoCoMo: long conversations of two people, in numbered sessions, with questions about them.

One object a conversation (`conversation`, `qa`, `sample_id`), or a list of them. Turns are `user` messages named after their
speaker; `dia_id` is the message's id; a session's time is all that is known of its turns' times. Adversarial questions
(category 5) have no answer in the conversation: they are dropped.
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
    """A draft a conversation. Raises `InvalidInput` naming the file that isn't one."""
    for path, document in files:
        found = samples(document)
        if not found:
            raise InvalidInput(f"{path}: no LoCoMo conversation in it: each needs a conversation with session_1, session_2, …")
        for number, sample in enumerate(found, start=1):
            called = sample.get("sample_id")
            standing_in = path.stem if len(found) == 1 else f"{path.stem}-{number}"
            draft = Draft(name=called if isinstance(called, str) and called else standing_in)
            add_messages(draft, sample["conversation"], session_time)
            add_questions(draft, sample.get("qa"), CATEGORIES, _LEFT_OUT)
            yield draft


def samples(document: Any) -> list[Mapping[str, Any]]:
    """The conversations of a file; none where it is in another format."""
    listed = document if isinstance(document, list) else [document]
    return [sample for sample in listed if isinstance(sample, Mapping) and _spoken(sample.get("conversation"))]


def session_time(text: Any) -> datetime | None:
    """A session's naive time, such as `1:56 pm on 8 May, 2023`; None where it can't be read."""
    return time_of(text, "%I:%M %p on %d %B, %Y")


def _spoken(conversation: Any) -> bool:
    return isinstance(conversation, Mapping) and any(read_sessions(conversation))
