"""LoCoMo files as rows: what `evaluate/formats` reads of them, reported on row by row, and the questions the demo asks.

A session's time is all that is known of its turns' times, naive as in the file: the scope's zone says what it means. The
evaluation is imported where it is used: the command starts without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from germane.cli.imports.row import Broken, Row, Turn
from germane.cli.imports.turn import Naming, turn
from germane.errors import InvalidInput

__all__ = ["Asked", "questions", "read_locomo"]


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
    from germane.evaluate.formats.dialogue import read_sessions, read_turn
    from germane.evaluate.formats.locomo import session_time

    naming = Naming()
    sample = document.get("sample_id")
    prefix = sample if isinstance(sample, str) and sample else session
    for name, _, time, turns in read_sessions(document["conversation"]):
        chosen = f"{prefix}/{name}"
        if not isinstance(turns, list):
            yield Broken(name, f"must be a list of turns, not {type(turns).__name__}")
            continue
        when = session_time(time)
        if when is None and turns:
            yield Broken(name, f"its {name}_date_time can't be read, such as '1:56 pm on 8 May, 2023': read without time")
        began = None if when is None else when.isoformat()
        for number, raw in enumerate(turns, start=1):
            try:
                speaker, text, id = read_turn(raw)
                fields = {"role": "user", "name": speaker, "content": text, "id": id, "created_at": began}
                yield Turn(chosen, turn(fields, chosen, naming))
            except InvalidInput as error:
                yield Broken(f"{name}, turn {number}", str(error))


def questions(document: Mapping[str, Any]) -> Iterator[Asked]:
    """Its questions that have an answer. Evidence is split and mended, not looked up."""
    from germane.evaluate.formats.evidence import dialogue_ids

    for asked in document.get("qa") or []:
        if isinstance(asked, Mapping) and isinstance(asked.get("question"), str) and asked.get("answer") is not None:
            evidence = tuple(id for label in asked.get("evidence") or () for id in dialogue_ids(label))
            category = asked.get("category")
            yield Asked(asked["question"], str(asked["answer"]), evidence, category if isinstance(category, int) else 0)
