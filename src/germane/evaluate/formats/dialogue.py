"""Dialogue: reads the JSON shape that LoCoMo and REALTALK share: two speakers, numbered sessions, and questions.

One object holds the lists of turns `session_1`, `session_2`, … with their times (`session_1_date_time`), and the questions in
`qa`. A turn has a `speaker`, an id (`dia_id`) and a text; the caption of a shared photo is appended to the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.evidence import dialogue_ids
from germane.types.message import Message

__all__ = ["DialogueSession", "DialogueTurn", "add_messages", "add_questions", "read_sessions", "read_turn", "time_of"]

_SESSION = re.compile(r"session_(\d{1,9})")
_CATEGORY = re.compile(r"\d{1,9}")


class DialogueSession(NamedTuple):
    """A session as the file has it: `time` is unparsed, and `turns` is a list unless the file is broken."""

    name: str
    number: int
    time: Any
    turns: Any


class DialogueTurn(NamedTuple):
    """One turn. A missing speaker or id is None, and a missing text is empty."""

    speaker: str | None
    text: str
    id: str | None


def read_sessions(document: Mapping[str, Any]) -> Iterator[DialogueSession]:
    """Yields the sessions of a dialogue, sorted by number."""
    found = sorted((int(match[1]), key) for key in document if (match := _SESSION.fullmatch(str(key))))
    for number, key in found:
        yield DialogueSession(key, number, document.get(f"{key}_date_time"), document[key])


def read_turn(turn: Any, field: str = "text") -> DialogueTurn:
    """Reads a turn whose text is in `field`. Raises `InvalidInput` where `turn` isn't an object."""
    if not isinstance(turn, Mapping):
        raise InvalidInput(f"a turn must be an object, not {type(turn).__name__}")
    speaker, text, caption, id = (turn.get(key) for key in ("speaker", field, "blip_caption", "dia_id"))
    content = [text] if isinstance(text, str) and text.strip() else []
    if isinstance(caption, str) and caption.strip():
        content.append(f"[shares a photo: {caption.strip()}]")
    return DialogueTurn(
        speaker if isinstance(speaker, str) and speaker else None,
        " ".join(content),
        str(id) if isinstance(id, str | int) and id != "" else None,
    )


def add_messages(
    draft: Draft, document: Mapping[str, Any], read: Callable[[Any], datetime | None], field: str = "text"
) -> None:
    """Adds every turn to the draft as a `user` message with its speaker as name. Its time is its own (`date_time`) or else that
    of its session; `read` parses both. A turn without an id gets one from its position (`D1:3`)."""
    for session in read_sessions(document):
        if not isinstance(session.turns, list):
            draft.drop(session.name, f"must be a list of turns, not {type(session.turns).__name__}")
            continue
        began = read(session.time)
        for number, turn in enumerate(session.turns, start=1):
            what = f"{session.name}, turn {number}"
            try:
                speaker, text, id = read_turn(turn, field)
            except InvalidInput as error:
                draft.drop(what, str(error))
                continue
            when = read(turn.get("date_time")) or began
            own = id or f"D{session.number}:{number}"
            draft.add_message(session.name, Message.of("user", text, id=own, name=speaker, created_at=when), what)


def add_questions(draft: Draft, listed: Any, categories: Mapping[int, str], left_out: Mapping[int, str]) -> None:
    """Adds the questions of `qa` to the draft, named q1, q2, … in their order. `categories` gives the names of the category
    numbers, `left_out` the reason for each category that is dropped."""
    for number, asked in enumerate(listed if isinstance(listed, list) else (), start=1):
        label = f"q{number}"
        if not isinstance(asked, Mapping):
            draft.drop(f"question {label}", f"must be an object, not {type(asked).__name__}")
            continue
        category = str(asked.get("category") or "")
        number_of = int(category) if _CATEGORY.fullmatch(category) else 0
        if number_of in left_out:
            draft.drop(f"question {label}", left_out[number_of])
            continue
        draft.add_question(
            label,
            asked.get("question"),
            asked.get("evidence"),
            read=dialogue_ids,
            category=categories.get(number_of, category),
            answer=asked.get("answer"),
        )


def time_of(text: Any, format: str) -> datetime | None:
    """The naive time of `text` in a `strptime` format; None where it has another one."""
    try:
        return datetime.strptime(text.strip(), format) if isinstance(text, str) else None
    except ValueError:
        return None
