"""LoCoMo reader: reads a LoCoMo file as rows, and the labelled questions that the demo asks.

The format itself is read by `evaluate/formats`, imported inside the functions so that the command starts fast. A session's time
holds for all its turns and has no zone, as in the file: the zone of the scope applies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from germane.cli.imports.message_fields import MessageNaming, parse_message
from germane.cli.imports.rows import BrokenRow, MessageRow, Row
from germane.errors import InvalidInput

__all__ = ["ADVERSARIAL", "DemoQuestion", "questions", "read_locomo"]

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
    from germane.evaluate.formats.dialogue import read_sessions, read_turn
    from germane.evaluate.formats.locomo import session_time

    naming = MessageNaming()
    sample = document.get("sample_id")
    prefix = sample if isinstance(sample, str) and sample else session
    for name, _, time, turns in read_sessions(document["conversation"]):
        session_id = f"{prefix}/{name}"
        if not isinstance(turns, list):
            yield BrokenRow(name, f"must be a list of turns, not {type(turns).__name__}")
            continue
        start = session_time(time)
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
    from germane.evaluate.formats.evidence import dialogue_ids

    for entry in document.get("qa") or []:
        if isinstance(entry, Mapping) and isinstance(entry.get("question"), str) and entry.get("answer") is not None:
            evidence = tuple(id for label in entry.get("evidence") or () for id in dialogue_ids(label))
            category = entry.get("category")
            yield DemoQuestion(entry["question"], str(entry["answer"]), evidence, category if isinstance(category, int) else 0)
