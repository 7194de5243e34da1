"""Own: reads the user's own recorded requests (JSON Lines), and everyday data; tells the format of a JSON document.

Recorded requests: each line has one request and its evidence.

    {"conversation": "anna", "session": "monday", "messages": [{"role": "user", "id": "m1", "content": "…"}, …],
     "question": "Where does she live?", "evidence": ["m1"], "category": "address", "answer": "Vienna"}

- `messages` are the earlier messages in the shapes that `record` takes, each with a `created_at`, and with an `id` that
  evidence can name. A message without an id is called `<session>:<n>` by its position in this list. Its `session` is its own,
  or else that of the line, or else `1`.
- `conversation`: lines with the same name share a store, and the messages and memories of all of them are stored before the
  first question is asked. Messages may be given once, or again with each line. A line without a name is its own conversation.
- `memories` are stored too: each has an `id`, a `text`, and `kind` and fields as `remember` takes them. Evidence may name them.
- `question` and `evidence` go together; a line without `question` only adds messages and memories. `id`, `category`, `answer`,
  `at` (the time of the question) and `superseded` (ids of messages replaced by then) are optional; `metadata` is ignored.

A broken line is an error that names the line, because the user can correct it. A label that names no message is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from germane.dialects.fields import read_envelope
from germane.dialects.registry import parse
from germane.errors import InvalidInput
from germane.kinds.memories.plans import new_memory
from germane.types.message import Message
from germane.types.scope import Scope
from germane_eval.dataset import Stated
from germane_eval.formats.draft import Draft, JsonFile, aware, known_ids
from germane_eval.formats.public import locomo_samples, longmemeval_entries, realtalk_chats

_KNOWN = frozenset(
    "answer at category conversation evidence id memories messages metadata question session superseded".split()  # noqa: SIM905
)
_BOM = b"\xef\xbb\xbf"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def looks_like_requests(path: Path) -> bool:
    """Whether the file holds JSON Lines of requests: it ends with `.jsonl`, or its first line is a request."""
    if path.suffix == ".jsonl":
        return True
    try:
        with path.open("rb") as lines:
            bare = (line.removeprefix(_BOM).strip() for line in lines)
            first = next((line for line in bare if line), b"")
            return first.startswith(b"{") and detect(json.loads(first)) == "requests"
    except (OSError, ValueError, RecursionError):
        return False


def read_requests(paths: Sequence[Path]) -> Iterator[Draft]:
    """Yields one draft for each conversation. With several files the file's name is put before that of the conversation. Raises
    `InvalidInput` naming file and line."""
    for path in paths:
        drafts: dict[str, Draft] = {}
        asked: list[tuple[Draft, Mapping[str, Any], int]] = []
        for number, line in _lines(path):
            try:
                name = _recorded_text(line, "conversation") or f"line-{number}"
                draft = drafts.setdefault(name, Draft(name=name if len(paths) == 1 else f"{path.stem}/{name}"))
                _read_line(draft, line, number)
            except InvalidInput as error:
                raise InvalidInput(f"{path}, line {number}: {error}") from None
            if line.get("question") is not None:
                asked.append((draft, line, number))
            elif line.get("evidence"):
                raise InvalidInput(f"{path}, line {number}: evidence without a question: give both, or neither")
        for draft, line, number in asked:
            try:
                _recorded_question(draft, line, number)
            except InvalidInput as error:
                raise InvalidInput(f"{path}, line {number}: {error}") from None
        yield from drafts.values()


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yields number (counted from 1) and object of each line; blank lines are skipped. Raises `InvalidInput`."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror or error}") from None
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            found = json.loads(line.decode())
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{where}: not UTF-8 at byte {error.start + 1}: save it as UTF-8") from None
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep, or a number too long"
            raise InvalidInput(f"{where}: not JSON: {why} (each request stands on one line)") from None
        if not isinstance(found, dict):
            raise InvalidInput(f"{where}: must be an object with messages and a question, not {type(found).__name__}")
        if strange := sorted(found.keys() - _KNOWN):
            raise InvalidInput(
                f"{where}: unknown {', '.join(strange)}: known are {', '.join(sorted(_KNOWN))} (metadata takes anything)"
            )
        yield number, found


def _read_line(draft: Draft, line: Mapping[str, Any], line_number: int) -> None:
    """Adds the messages and memories of a line to the draft. Raises `InvalidInput`."""
    session = _recorded_text(line, "session") or "1"
    for number, raw in enumerate(_listed(line, "messages"), start=1):
        try:
            _recorded_message(draft, raw, session, number)
        except InvalidInput as error:
            raise InvalidInput(f"message {number}: {error}") from None
    for number, raw in enumerate(_listed(line, "memories"), start=1):
        try:
            _recorded_memory(draft, raw, f"line-{line_number}:memory-{number}")
        except InvalidInput as error:
            raise InvalidInput(f"memory {number}: {error}") from None


def _recorded_message(draft: Draft, raw: Any, session: str, number: int) -> None:
    message = parse(raw)
    own = raw.get("session") if isinstance(raw, Mapping) else None
    session = str(own) if isinstance(own, str | int) and own != "" else session
    message = replace(message, id=message.id or f"{session}:{number}", created_at=aware(message.created_at))
    what = f"session {session}, message {message.id}"
    if message.role == "system":
        draft.drop(what, "system messages aren't recorded")
        return
    before = draft.messages.get(message.id or "")
    if before is None and message.id not in draft.memories:
        draft.add_message(session, message, what)
    elif before is None or (before.role, before.content) != (message.role, message.content):
        raise InvalidInput(f"its id {message.id} is another message's or memory's: give each an id of its own")


def _recorded_memory(draft: Draft, raw: Any, default_id: str) -> None:
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"must be an object with a text, not {type(raw).__name__}")
    given = {key: value for key, value in raw.items() if key not in ("id", "text", "kind")}
    kind = _recorded_text(raw, "kind") or "note"
    stated = Stated(id=_recorded_text(raw, "id") or default_id, text=raw.get("text"), kind=kind, given=given)
    new_memory(stated.text, kind=kind, scope=Scope(), now=_LONG_AGO, given=given)  # raises what `remember` would raise
    if stated.id in draft.messages or draft.memories.setdefault(stated.id, stated) != stated:
        raise InvalidInput(f"its id {stated.id} is another message's or memory's: give each an id of its own")


def _recorded_question(draft: Draft, line: Mapping[str, Any], number: int) -> None:
    label = _recorded_text(line, "id") or f"line-{number}"
    if any(question.id == f"{draft.name}/{label}" for question in draft.questions):
        raise InvalidInput(f"the id {label} is another question's: give each an id of its own")
    known, at = {*draft.messages, *draft.memories}, line.get("at")
    superseded, lost = known_ids(_listed(line, "superseded"), known, noun="superseded")
    for reason in lost:
        draft.drop(f"question {label}", reason)
    draft.add_question(
        label,
        line["question"],
        _listed(line, "evidence"),
        category=_recorded_text(line, "category") or "",
        answer=line.get("answer"),
        at=None if at is None else read_envelope({"created_at": at}).get("created_at"),
        superseded=superseded,
    )


def _recorded_text(line: Mapping[str, Any], name: str) -> str | None:
    """A string field; a whole number is read as a string, and a missing or empty field as None. Raises `InvalidInput`."""
    value = line.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    return value or None


def _listed(line: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = line.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise InvalidInput(f"{name} must be a list, not {type(value).__name__}")
    return value


# Everyday data: the sessions of a person with an assistant and the requests that they make afterwards. A file holds one
# person (or a list of them): `id`, `sessions` and `questions`. A session has an `id` and `messages` (`id`, `role`,
# `name`, `time`, `text`). A question has a `text`, a `time`, a `category`, in a shared chat the `name` of who asks,
# and:
# - `evidence`: the ids of all messages that hold what is needed; empty where nothing stored is needed.
# - `not_alone`: ids of outdated statements that must not be shown without the evidence.
# - `answer`: a text; its words show which part of the evidence matters.
# A broken value is an error that names its place, because whoever wrote the data can correct it. A label that names no
# message is dropped.


def read_everyday(files: Iterable[JsonFile]) -> Iterator[Draft]:
    """Yields one draft for each person. Raises `InvalidInput` naming the file, and the message or question that is broken."""
    for path, document in files:
        listed = document if isinstance(document, list) else [document]
        for number, person in enumerate(listed, start=1):
            default = path.stem if len(listed) == 1 else f"{path.stem}-{number}"
            try:
                yield _read_person(person, default)
            except InvalidInput as error:
                raise InvalidInput(f"{path}{'' if len(listed) == 1 else f', person {number}'}: {error}") from None


def everyday_people(document: Any) -> list[Mapping[str, Any]]:
    """The people of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [person for person in listed if isinstance(person, Mapping) and {"sessions", "questions"} <= person.keys()]


def _read_person(person: Any, default: str) -> Draft:
    if not everyday_people(person):
        raise InvalidInput("a person must be an object with sessions and questions")
    draft = Draft(name=_everyday_text(person, "id") or default)
    for number, session in enumerate(_objects(person, "sessions"), start=1):
        name = _everyday_text(session, "id") or f"session-{number}"
        if name in draft.sessions:
            raise InvalidInput(f"the id {name} is another session's: give each an id of its own")
        for place, raw in enumerate(_objects(session, "messages", f"session {name}"), start=1):
            what = f"session {name}, message {place}"
            try:
                _everyday_message(draft, name, raw, what)
            except InvalidInput as error:
                raise InvalidInput(f"{what}: {error}") from None
    for number, asked in enumerate(_objects(person, "questions"), start=1):
        try:
            _everyday_question(draft, asked, f"q{number}")
        except InvalidInput as error:
            raise InvalidInput(f"question {number}: {error}") from None
    return draft


def _everyday_message(draft: Draft, session: str, raw: Mapping[str, Any], what: str) -> None:
    role, id = raw.get("role"), _everyday_text(raw, "id")
    if role != "user" and role != "assistant":
        raise InvalidInput(f"role must be user or assistant, not {_shown(role)}")
    if id in draft.messages:
        raise InvalidInput(f"the id {id} is another message's: give each an id of its own")
    text, name, time = _everyday_text(raw, "text") or "", _everyday_text(raw, "name"), _everyday_time(raw)
    draft.add_message(session, Message.of(role, text, id=id, name=name, created_at=time), what)


def _everyday_question(draft: Draft, asked: Mapping[str, Any], label: str) -> None:
    evidence = _ids(asked, "evidence")
    superseded, lost = known_ids(_ids(asked, "not_alone") if "not_alone" in asked else (), draft.messages, noun="not_alone")
    for reason in lost:
        draft.drop(f"question {label}", reason)
    draft.add_question(
        label,
        _everyday_text(asked, "text"),
        evidence,
        needed=bool(evidence),
        name=_everyday_text(asked, "name"),
        category=_everyday_text(asked, "category") or "",
        answer=_everyday_text(asked, "answer"),
        at=_everyday_time(asked),
        superseded=superseded,
    )


def _everyday_text(holder: Mapping[str, Any], key: str) -> str | None:
    """A string; a whole number is read as one, and a missing or empty value as None. Raises `InvalidInput`."""
    value = holder.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 1e18 else _refused(key, "a string", value)
    if value is not None and not isinstance(value, str):
        _refused(key, "a string", value)
    return value or None


def _everyday_time(holder: Mapping[str, Any]) -> datetime | None:
    value = _everyday_text(holder, "time")
    try:
        return None if value is None else datetime.fromisoformat(value.strip())
    except ValueError:
        return _refused("time", "a time in ISO 8601", value)


def _ids(holder: Mapping[str, Any], key: str) -> Sequence[str]:
    value = holder.get(key)
    if not isinstance(value, list) or not all(isinstance(id, str) for id in value):
        _refused(key, "a list of the ids of messages", value)
    found: list[str] = value
    return found


def _objects(holder: Mapping[str, Any], key: str, where: str = "") -> Sequence[Mapping[str, Any]]:
    value = holder.get(key)
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        _refused(f"{where}: {key}" if where else key, "a list of objects", value)
    found: list[Mapping[str, Any]] = value
    return found


def _refused(key: str, wanted: str, value: Any) -> NoReturn:
    raise InvalidInput(f"{key} must be {wanted}, not {_shown(value)}")


def _shown(value: Any) -> str:
    return repr(value[:40]) if isinstance(value, str) else "missing" if value is None else type(value).__name__


# The format of a JSON document is told by its shape, never by its file name.


def detect(document: Any) -> str | None:
    """The name of the document's format; None for an unknown one. A single object may be a line of recorded requests."""
    if locomo_samples(document):
        return "locomo"
    if longmemeval_entries(document):
        return "longmemeval"
    if realtalk_chats(document):
        return "realtalk"
    if everyday_people(document):
        return "everyday"
    if isinstance(document, Mapping) and ("messages" in document or "question" in document):
        return "requests"
    return None
