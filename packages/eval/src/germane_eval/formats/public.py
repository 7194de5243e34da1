"""Public: reads the public data sets LoCoMo, REALTALK, BEAM and LongMemEval.

LoCoMo and REALTALK share a JSON shape: two speakers, numbered sessions, and questions. One object holds the lists of turns
`session_1`, `session_2`, … with their times (`session_1_date_time`), and the questions in `qa`. A turn has a `speaker`, an
id (`dia_id`) and a text; the caption of a shared photo is appended to the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from germane.cli.imports.locomo import dialogue_ids, locomo_time, read_sessions, read_turn, time_of
from germane.errors import InvalidInput
from germane.types.message import Message
from germane_eval.formats.draft import Draft, JsonFile, flat_labels, read_json_file

_CATEGORY = re.compile(r"\d{1,9}")


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


# LoCoMo: long conversations of two people. A file holds one object for a conversation (`conversation`, `qa`,
# `sample_id`) or a list of them. Turns become `user` messages with the speaker as name and `dia_id` as id; their time
# is that of their session. Adversarial questions (category 5) have no answer in the conversation and are dropped.


LOCOMO_CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"})
_LOCOMO_LEFT_OUT = MappingProxyType({5: "adversarial: its answer isn't in the conversation"})


def read_locomo(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each conversation. Raises `InvalidInput` naming the file that holds none."""
    for path, document in files:
        found = locomo_samples(document)
        if not found:
            raise InvalidInput(f"{path}: no LoCoMo conversation in it: each needs a conversation with session_1, session_2, …")
        for number, sample in enumerate(found, start=1):
            name = sample.get("sample_id")
            default = path.stem if len(found) == 1 else f"{path.stem}-{number}"
            draft = Draft(name=name if isinstance(name, str) and name else default)
            add_messages(draft, sample["conversation"], locomo_time)
            add_questions(draft, sample.get("qa"), LOCOMO_CATEGORIES, _LOCOMO_LEFT_OUT)
            yield draft


def locomo_samples(document: Any) -> list[Mapping[str, Any]]:
    """The conversations of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [sample for sample in listed if isinstance(sample, Mapping) and _has_sessions(sample.get("conversation"))]


def _has_sessions(conversation: Any) -> bool:
    return isinstance(conversation, Mapping) and any(read_sessions(conversation))


# REALTALK: three weeks of messages between two people, one file for each chat. The sessions are at the top of the
# object, beside `name` (the speakers) and `qa`. The text of a message is its `clean_text`, and its time its `date_time`
# (`29.12.2023, 00:51:12`, without a zone). Pictures without a caption have no text and are dropped. Evidence is
# labelled by `dia_id`, as in LoCoMo, which has the same authors.


REALTALK_CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "commonsense"})


def read_realtalk(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each chat. Raises `InvalidInput` naming the file that holds none."""
    for path, document in files:
        found = realtalk_chats(document)
        if not found:
            raise InvalidInput(f"{path}: no REALTALK chat in it: each needs session_1, session_2, … and qa at its top")
        for number, talk in enumerate(found, start=1):
            draft = Draft(name=path.stem if len(found) == 1 else f"{path.stem}-{number}")
            add_messages(draft, talk, realtalk_time, "clean_text")
            add_questions(draft, talk.get("qa"), REALTALK_CATEGORIES, {})
            yield draft


def realtalk_chats(document: Any) -> list[Mapping[str, Any]]:
    """The chats of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [talk for talk in listed if isinstance(talk, Mapping) and any(read_sessions(talk))]


def realtalk_time(text: Any) -> datetime | None:
    """The naive time of a text such as `29.12.2023, 00:51:12`; None for anything else."""
    return time_of(text, "%d.%m.%Y, %H:%M:%S")


# BEAM: long chats of a user with an assistant, one folder for each chat. A folder holds `chat.json`, and
# `probing_questions.json` beside it or in a folder `probing_questions`. A shortened chat (`chat_trunecated.json`, in
# the authors' spelling) replaces `chat.json`, because the questions are about it.
# A chat is a list of batches; the longest chats are lists of plans with batches. A batch is a session: it has turns,
# and each turn is a list of messages. A `time_anchor` (a date) is the time of all messages up to the next anchor. Texts
# stay as they are, with the marks of the generator (`->-> 1,1`). Every id in `source_chat_ids` is evidence. In a
# question about a knowledge update, the original message is superseded by the update, unless one message states both.
# Abstention questions have no evidence and are dropped.


_CHATS = ("chat_trunecated.json", "chat.json")
_QUESTIONS = ("probing_questions.json", "probing_questions/probing_questions.json")
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def beam_chats(path: Path) -> list[Path]:
    """The folders that hold a chat: `path` itself, or the folder of the file `path`, or the folders in `path`, sorted by number
    and name."""
    folder = path.parent if path.name in _CHATS else path
    if _first(folder, _CHATS):
        return [folder]
    found = {inner.parent for name in _CHATS for inner in folder.glob(f"*/{name}")}
    return sorted(
        found, key=lambda chat: (not chat.name.isdecimal(), int(chat.name) if chat.name.isdecimal() else 0, chat.name)
    )


def looks_like_beam(path: Path) -> bool:
    """Whether `path` is a folder with chats, or a chat with its questions. A lone `chat.json` isn't enough: the name is
    common."""
    folders = beam_chats(path)
    return bool(folders) and (folders[0].parent == path or _first(folders[0], _QUESTIONS) is not None)


def read_beam(path: Path) -> Iterator[Draft]:
    """Yields one draft for each chat. Raises `InvalidInput` naming the file that is missing or has another format."""
    folders = beam_chats(path)
    if not folders:
        raise InvalidInput(f"{path}: no chat.json in it or in a folder of it")
    for folder in folders:
        draft = Draft(name=folder.name)
        questions = _first(folder, _QUESTIONS)
        if questions is None:
            raise InvalidInput(f"{folder}: probing_questions.json is missing: put it beside chat.json")
        _read_messages(draft, _first(folder, _CHATS) or folder / "chat.json")
        _read_questions(draft, questions)
        yield draft


def beam_time(text: Any) -> datetime | None:
    """The naive time of a day such as `March-15-2024`; None for anything else."""
    return time_of(text, "%B-%d-%Y")


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    """The first of these files that exists in `folder`."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _read_messages(draft: Draft, path: Path) -> None:
    found = list(_batches(read_json_file(path).document, "batch"))
    if not found:
        raise InvalidInput(f"{path}: no batch in it: it must be a list of batches with turns")
    for session, batch in found:
        when = beam_time(batch.get("time_anchor"))
        said = [message for turn in batch["turns"] for message in (turn if isinstance(turn, list) else [turn])]
        for number, raw in enumerate(said, start=1):
            what = f"{session}, message {number}"
            role = raw.get("role") if isinstance(raw, Mapping) else None
            if role != "user" and role != "assistant":
                draft.drop(what, "it isn't a message with the role user or assistant")
                continue
            when = beam_time(raw.get("time_anchor")) or when
            text, id = raw.get("content"), raw.get("id")
            own = f"{session}:{number}" if id is None else str(id)
            message = Message.of(role, text if isinstance(text, str) else "", id=own, created_at=when)
            draft.add_message(session, message, what)


def _batches(found: Any, called: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields the session's name and the batch, for each batch at any depth."""
    if isinstance(found, Mapping):
        if isinstance(found.get("turns"), list):
            yield f"{called}-{found.get('batch_number', 1)}", found
            return
        for name, inner in found.items():
            yield from _batches(inner, f"{name}-batch")
    elif isinstance(found, list):
        for number, inner in enumerate(found, start=1):
            unnumbered = isinstance(inner, Mapping) and "turns" in inner and "batch_number" not in inner
            yield from _batches({**inner, "batch_number": number} if unnumbered else inner, called)


def _read_questions(draft: Draft, path: Path) -> None:
    document = read_json_file(path).document
    if not isinstance(document, Mapping):
        raise InvalidInput(f"{path}: must be an object of question types, not {type(document).__name__}")
    for category, listed in document.items():
        for number, asked in enumerate(listed if isinstance(listed, list) else [listed], start=1):
            label = f"{category}-{number}"
            if not isinstance(asked, Mapping):
                draft.drop(f"question {label}", f"must be an object, not {type(asked).__name__}")
            elif category == "abstention":
                draft.drop(f"question {label}", "abstention: its answer isn't in the chat")
            else:
                draft.add_question(
                    label,
                    asked.get("question"),
                    asked.get("source_chat_ids"),
                    category=category,
                    answer=next((asked[key] for key in _ANSWERS if asked.get(key) is not None), None),
                    superseded=_superseded(asked.get("source_chat_ids")),
                )


def _superseded(sources: Any) -> set[str]:
    """The ids of outdated messages. A message that states both the old and the new content is up to date."""
    if not isinstance(sources, Mapping):
        return set()
    old, new = ({str(id) for id in flat_labels(sources.get(key))} for key in ("original_info", "updated_info"))
    return old - new if new else set()


# LongMemEval: one haystack of dated chat sessions for each question. Each question is its own conversation. The id of a
# message is made of its session and its position there (`answer_4be1b6b4_2_3`). Turns marked `has_answer` are evidence;
# a labelled session without such a mark is evidence as a whole. In a question about a knowledge update, the evidence of
# earlier sessions is superseded by that of the latest one. Abstention questions (ids that end with `_abs`) have no
# answer in the chats and are dropped.


_STAMP = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?:\D+(\d{1,2}):(\d{2}))?")


class _HaystackSession(NamedTuple):
    """A session of a haystack, with its naive time."""

    id: str
    when: datetime | None
    turns: list[Any]


def read_longmemeval(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each question. Raises `InvalidInput` naming the file, and the question that is broken."""
    for path, document in files:
        found = longmemeval_entries(document)
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


def longmemeval_entries(document: Any) -> list[Mapping[str, Any]]:
    """The questions of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [entry for entry in listed if isinstance(entry, Mapping) and isinstance(entry.get("haystack_sessions"), list)]


def longmemeval_time(text: Any) -> datetime | None:
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
        at=longmemeval_time(entry.get("question_date")),
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
        found.append(_HaystackSession(id, longmemeval_time(dates[number - 1]) if dates else None, turns))
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
