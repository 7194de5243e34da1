"""LongMemEval: reads the LongMemEval data set, one haystack of dated chat sessions for each question.

Each question is a conversation of its own. The id of a message is made of its session and its position there
(`answer_4be1b6b4_2_3`). Turns marked `has_answer` are evidence; a labelled session without such a mark is evidence as a whole.
In a question about a knowledge update, the evidence of earlier sessions is superseded by that of the latest one. Abstention
questions (ids that end with `_abs`) have no answer in the chats and are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from germane.errors import InvalidInput
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.json_file import JsonFile
from germane.types.message import Message

__all__ = ["entries", "read_longmemeval", "stamp"]

_STAMP = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\D+(\d{1,2}):(\d{2}))?")


class _HaystackSession(NamedTuple):
    """A session of a haystack, with its naive time."""

    id: str
    when: datetime | None
    turns: list[Any]


def read_longmemeval(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each question. Raises `InvalidInput` naming the file, and the question that is broken."""
    for path, document in files:
        found = entries(document)
        if not found:
            raise InvalidInput(f"{path}: no LongMemEval question in it: each needs its haystack_sessions")
        for number, entry in enumerate(found, start=1):
            id = str(entry.get("question_id") or f"q{number}")
            draft = Draft(name=id)
            if id.endswith("_abs"):
                draft.drop(f"question {id}", "abstention: its answer isn't in the chats")
            else:
                _read_entry(draft, entry, f"{path}, question {id}")
            yield draft


def entries(document: Any) -> list[Mapping[str, Any]]:
    """The questions of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("haystack_sessions"), list)]


def stamp(text: Any) -> datetime | None:
    """The naive time of a text such as `2023/05/20 (Sat) 02:21`; None for anything else."""
    if not isinstance(text, str) or not (found := _STAMP.match(text.strip())):
        return None
    try:
        year, month, day, hour, minute = (int(number or 0) for number in found.groups())
        return datetime(year, month, day, hour, minute)
    except ValueError:
        return None


def _read_entry(draft: Draft, entry: Mapping[str, Any], where: str) -> None:
    """Reads one question with its haystack into `draft`."""
    answering = entry.get("answer_session_ids") or []
    if not isinstance(answering, list):
        raise InvalidInput(f"{where}: answer_session_ids must be a list, not {type(answering).__name__}")
    labelled = {str(id) for id in answering}
    evidence: list[tuple[datetime | None, list[str]]] = []
    for session in _haystack(entry, where):
        ids = _read_session(draft, session)
        if session.id in labelled:
            marked = [id for id, turn in ids if turn.get("has_answer") is True]
            evidence.append((session.when, marked or [id for id, _ in ids]))
            labelled.discard(session.id)
    label, kind = draft.name, str(entry.get("question_type") or "")
    for lost in sorted(labelled):
        draft.drop(f"question {label}", f"answer session {lost} isn't in its haystack: left out")
    draft.add_question(
        label,
        entry.get("question"),
        [ids for _, ids in evidence],
        id=label,
        category=kind,
        answer=entry.get("answer"),
        at=stamp(entry.get("question_date")),
        superseded=_earlier(evidence) if kind == "knowledge-update" else (),
    )


def _haystack(entry: Mapping[str, Any], where: str) -> list[_HaystackSession]:
    """The sessions of a haystack, sorted by time where all of them have one, else in the order of the file."""
    sessions, ids, dates = (entry.get(f"haystack_{name}") or [] for name in ("sessions", "session_ids", "dates"))
    if not isinstance(sessions, list):
        raise InvalidInput(f"{where}: haystack_sessions must be a list, not {type(sessions).__name__}")
    for name, listed in (("session_ids", ids), ("dates", dates)):
        if listed and (not isinstance(listed, list) or len(listed) != len(sessions)):
            raise InvalidInput(f"{where}: haystack_{name} must be a list as long as its {len(sessions)} haystack_sessions")
    found = []
    for number, turns in enumerate(sessions, start=1):
        if not isinstance(turns, list):
            raise InvalidInput(f"{where}: session {number} must be a list of turns, not {type(turns).__name__}")
        id = str(ids[number - 1]) if ids else f"session-{number}"
        found.append(_HaystackSession(id, stamp(dates[number - 1]) if dates else None, turns))
    known = [session.when for session in found if session.when is not None]
    return sorted(found, key=lambda session: session.when or known[0]) if len(known) == len(found) else found


def _read_session(draft: Draft, session: _HaystackSession) -> list[tuple[str, Mapping[str, Any]]]:
    """Adds the messages of a session to the draft, and returns the id of each with its turn. A session that stands in the
    haystack twice becomes two sessions."""
    name, copies = session.id, 1
    while name in draft.sessions:
        copies += 1
        name = f"{session.id}~{copies}"
    kept = []
    for number, turn in enumerate(session.turns, start=1):
        what = f"session {name}, turn {number}"
        role = turn.get("role") if isinstance(turn, Mapping) else None
        if role != "user" and role != "assistant":
            draft.drop(what, "it isn't a turn with the role user or assistant")
            continue
        text = turn.get("content")
        message = Message.of(role, text if isinstance(text, str) else "", id=f"{name}_{number}", created_at=session.when)
        if (id := draft.add_message(name, message, what)) is not None:
            kept.append((id, turn))
    return kept


def _earlier(evidence: list[tuple[datetime | None, list[str]]]) -> list[str]:
    """The evidence of all but the latest sessions. `evidence` is sorted by time; sessions of the same time count as one."""
    moments = [[id for _, ids in same for id in ids] for _, same in groupby(evidence, key=lambda session: session[0])]
    return [id for ids in moments[:-1] for id in ids]
