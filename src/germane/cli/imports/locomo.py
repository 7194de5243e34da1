"""LoCoMo files: one long conversation of two people, in numbered sessions, with questions about it.

Turns are `user` messages named after their speaker; `dia_id` is the message's id. A shared photo's caption is part of what was
said. A session's time is all that is known of its turns' times, naive as in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from germane.cli.imports.row import Broken, Row, Turn
from germane.cli.imports.turn import Naming, turn
from germane.errors import InvalidInput

__all__ = ["Asked", "questions", "read_locomo", "session_time"]

_SESSION = re.compile(r"session_(\d{1,9})")
_TIME = "%I:%M %p on %d %B, %Y"


class Asked(NamedTuple):
    """A question with its answer and the ids of the messages that hold it. `category` is 1 multi-hop, 2 temporal,
    3 open-domain, 4 single-hop, 5 adversarial."""

    question: str
    answer: str
    evidence: tuple[str, ...]
    category: int


def read_locomo(document: Mapping[str, Any], session: str) -> Iterator[Row]:
    """Rows in the order of the sessions, which are called `<sample_id>/session_<n>`; `session` stands in for a missing
    sample_id."""
    naming = Naming()
    sample = document.get("sample_id")
    prefix = sample if isinstance(sample, str) and sample else session
    spoken = document["conversation"]
    for key in sorted((key for key in spoken if _SESSION.fullmatch(key)), key=lambda key: int(key[8:])):
        chosen = f"{prefix}/{key}"
        when = session_time(spoken.get(f"{key}_date_time"))
        turns = spoken[key]
        if not isinstance(turns, list):
            yield Broken(key, f"must be a list of turns, not {type(turns).__name__}")
            continue
        if when is None and turns:
            yield Broken(key, f"its {key}_date_time can't be read, such as '1:56 pm on 8 May, 2023': read without time")
        for number, said in enumerate(turns, start=1):
            try:
                yield Turn(chosen, turn(_flat(said, when), chosen, naming))
            except InvalidInput as error:
                yield Broken(f"{key}, turn {number}", str(error))


def questions(document: Mapping[str, Any]) -> Iterator[Asked]:
    """Its questions that have an answer. Evidence strings are as in the file but split where several share one."""
    for asked in document.get("qa") or []:
        if isinstance(asked, Mapping) and isinstance(asked.get("question"), str) and asked.get("answer") is not None:
            listed = asked.get("evidence")
            evidence = tuple(id for text in listed for id in re.findall(r"D\d+:\d+", str(text))) if listed else ()
            category = asked.get("category")
            yield Asked(asked["question"], str(asked["answer"]), evidence, category if isinstance(category, int) else 0)


def session_time(text: Any) -> datetime | None:
    """A session's naive time, such as `1:56 pm on 8 May, 2023`; None where it can't be read."""
    try:
        return datetime.strptime(text, _TIME) if isinstance(text, str) else None
    except ValueError:
        return None


def _flat(said: Any, when: datetime | None) -> dict[str, Any]:
    if not isinstance(said, Mapping):
        raise InvalidInput(f"a turn must be an object, not {type(said).__name__}")
    text, caption = said.get("text"), said.get("blip_caption")
    content = [text] if isinstance(text, str) and text.strip() else []
    if isinstance(caption, str) and caption.strip():
        content.append(f"[shares a photo: {caption.strip()}]")
    return {
        "role": "user",
        "name": said.get("speaker"),
        "content": " ".join(content),
        "id": said.get("dia_id"),
        "created_at": None if when is None else when.isoformat(),
    }
