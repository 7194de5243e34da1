"""LongMemEval: chats of a user with an assistant, made for one question each, in one list.

Each question is a conversation of its own (its haystack of dated sessions). Messages are called after their session and place
in it (`answer_4be1b6b4_2_3`). Evidence are the turns marked `has_answer`; a labelled session without such a mark counts whole.
Of a knowledge update what earlier sessions say is superseded by the latest. Questions whose id ends with `_abs` ask for what
isn't there: they are dropped.
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


class _Heap(NamedTuple):
    """A session of a haystack; what is labelled in it are messages' ids."""

    id: str
    when: datetime | None
    turns: list[Any]


def read_longmemeval(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """A draft a question. Raises `InvalidInput` naming the file, and the question that is broken."""
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
                _take(draft, entry, f"{path}, question {id}")
            yield draft


def entries(document: Any) -> list[Mapping[str, Any]]:
    """The questions of a file; none where it is in another format."""
    listed = document if isinstance(document, list) else [document]
    return [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("haystack_sessions"), list)]


def stamp(text: Any) -> datetime | None:
    """A naive time, such as `2023/05/20 (Sat) 02:21`; None where it can't be read."""
    if not isinstance(text, str) or not (found := _STAMP.match(text.strip())):
        return None
    try:
        year, month, day, hour, minute = (int(number or 0) for number in found.groups())
        return datetime(year, month, day, hour, minute)
    except ValueError:
        return None


def _take(draft: Draft, entry: Mapping[str, Any], where: str) -> None:
    labelled = {str(id) for id in entry.get("answer_session_ids") or ()}
    evidence: list[tuple[datetime | None, list[str]]] = []
    for heap in _sorted(entry, where):
        ids = _hear(draft, heap)
        if heap.id in labelled:
            marked = [id for id, turn in ids if turn.get("has_answer") is True]
            evidence.append((heap.when, marked or [id for id, _ in ids]))
            labelled.discard(heap.id)
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


def _sorted(entry: Mapping[str, Any], where: str) -> list[_Heap]:
    """The sessions by time, as far as it is known; else as in the file."""
    sessions, ids, dates = (entry.get(f"haystack_{name}") or [] for name in ("sessions", "session_ids", "dates"))
    for name, listed in (("session_ids", ids), ("dates", dates)):
        if listed and (not isinstance(listed, list) or len(listed) != len(sessions)):
            raise InvalidInput(f"{where}: haystack_{name} must be a list as long as its {len(sessions)} haystack_sessions")
    heaps = []
    for place, turns in enumerate(sessions):
        if not isinstance(turns, list):
            raise InvalidInput(f"{where}: session {place + 1} must be a list of turns, not {type(turns).__name__}")
        id = str(ids[place]) if ids else f"session-{place + 1}"
        heaps.append(_Heap(id, stamp(dates[place]) if dates else None, turns))
    known = [heap.when for heap in heaps if heap.when is not None]
    return sorted(heaps, key=lambda heap: heap.when or known[0]) if len(known) == len(heaps) else heaps


def _hear(draft: Draft, heap: _Heap) -> list[tuple[str, Mapping[str, Any]]]:
    """The ids its messages have got, each with its turn. A session that comes twice is two."""
    session, copies = heap.id, 1
    while session in draft.sessions:
        copies += 1
        session = f"{heap.id}~{copies}"
    kept = []
    for number, turn in enumerate(heap.turns, start=1):
        what = f"session {session}, turn {number}"
        role = turn.get("role") if isinstance(turn, Mapping) else None
        if role != "user" and role != "assistant":
            draft.drop(what, "it is no turn with the role user or assistant")
            continue
        text = turn.get("content")
        message = Message.of(role, text if isinstance(text, str) else "", id=f"{session}_{number}", created_at=heap.when)
        if (id := draft.add_message(session, message, what)) is not None:
            kept.append((id, turn))
    return kept


def _earlier(evidence: list[tuple[datetime | None, list[str]]]) -> list[str]:
    """What all but the latest of the sessions say; they come in the order of time, those of one moment together."""
    moments = [[id for _, ids in same for id in ids] for _, same in groupby(evidence, key=lambda one: one[0])]
    return [id for ids in moments[:-1] for id in ids]
