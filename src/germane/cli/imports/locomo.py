"""LoCoMo reader: reads a LoCoMo file as rows, and the labelled questions that the demo asks.

One object holds the lists of turns `session_1`, `session_2` and so on, with their times (`session_1_date_time`). A turn has a
`speaker`, an id (`dia_id`) and a text; the caption of a shared photo is appended to the text. A session's time holds for all
its turns and has no zone, as in the file: the zone of the scope applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from germane.cli.imports.rows import Row, parse_message
from germane.errors import InvalidInput
from germane.integrations.transcripts.rows import BrokenRow, MessageNaming, MessageRow

_SESSION = re.compile(r"session_(\d{1,9})")
_DIALOGUE = re.compile(r"D:?(\d{1,9}):(\d{1,9})")
ADVERSARIAL = 5


class DemoQuestion(NamedTuple):
    """A question with its answer and the ids of the messages that hold the answer, where they are known. `category` is 1
    multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial, 0 unknown."""

    question: str
    answer: str = ""
    evidence: tuple[str, ...] = ()
    category: int = 0


def read_locomo(document: Mapping[str, Any], session: str) -> Iterator[Row]:
    """Rows in the order of the sessions. A session's id is `<sample_id>/session_<n>`; `session` replaces a missing
    sample_id."""
    naming = MessageNaming()
    sample = document.get("sample_id")
    prefix = sample if isinstance(sample, str) and sample else session
    for name, _, time, turns in read_sessions(document["conversation"]):
        session_id = f"{prefix}/{name}"
        if not isinstance(turns, list):
            yield BrokenRow(name, f"must be a list of turns, not {type(turns).__name__}")
            continue
        start = locomo_time(time)
        if start is None and turns:
            yield BrokenRow(name, f"its {name}_date_time can't be read, such as '1:56 pm on 8 May, 2023': read without time")
        created_at = None if start is None else start.isoformat()
        for number, turn in enumerate(turns, start=1):
            try:
                speaker, text, id = read_turn(turn)
                fields = {"role": "user", "name": speaker, "content": text, "id": id, "created_at": created_at}
                yield MessageRow(session_id, parse_message(fields, session_id, naming))
            except InvalidInput as error:
                yield BrokenRow(f"{name}, turn {number}", str(error))


def questions(document: Mapping[str, Any]) -> Iterator[DemoQuestion]:
    """The questions that have an answer. Their evidence ids are cleaned, but not looked up in the conversation."""
    for entry in document.get("qa") or []:
        if isinstance(entry, Mapping) and isinstance(entry.get("question"), str) and entry.get("answer") is not None:
            evidence = tuple(id for label in entry.get("evidence") or () for id in dialogue_ids(label))
            category = entry.get("category")
            yield DemoQuestion(entry["question"], str(entry["answer"]), evidence, category if isinstance(category, int) else 0)


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


def time_of(text: Any, format: str) -> datetime | None:
    """The naive time of `text` in a `strptime` format; None where it has another one."""
    try:
        return datetime.strptime(text.strip(), format) if isinstance(text, str) else None
    except ValueError:
        return None


def locomo_time(text: Any) -> datetime | None:
    """The naive time of a session such as `1:56 pm on 8 May, 2023`; None for anything else."""
    return time_of(text, "%I:%M %p on %d %B, %Y")


def dialogue_ids(label: Any) -> list[str]:
    """The ids in a dialogue's label such as `D8:6`; empty where it has none. Several ids in one string are split
    (`D8:6; D9:17`); a stray colon (`D:11:26`) and leading zeros (`D30:05`) are repaired."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _DIALOGUE.findall(str(label))]
