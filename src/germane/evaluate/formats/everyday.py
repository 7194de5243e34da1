"""Everyday: reads everyday data, the sessions of a person with an assistant and the requests that they make afterwards.

A file holds one person (or a list of them): `id`, `sessions` and `questions`. A session has an `id` and `messages` (`id`,
`role`, `name`, `time`, `text`). A question has a `text`, a `time`, a `category`, in a shared chat the `name` of who asks, and:

- `evidence`: the ids of all messages that hold what is needed; empty where nothing stored is needed.
- `not_alone`: ids of outdated statements that must not be shown without the evidence.
- `answer`: a text; its words show which part of the evidence matters.

A broken value is an error that names its place, because whoever wrote the data can correct it. A label that names no message is
dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn

from germane.errors import InvalidInput
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.evidence import known_ids
from germane.evaluate.formats.json_file import JsonFile
from germane.types.message import Message

__all__ = ["people", "read_everyday"]


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


def people(document: Any) -> list[Mapping[str, Any]]:
    """The people of a file; empty for a file of another format."""
    listed = document if isinstance(document, list) else [document]
    return [person for person in listed if isinstance(person, Mapping) and {"sessions", "questions"} <= person.keys()]


def _read_person(person: Any, default: str) -> Draft:
    if not people(person):
        raise InvalidInput("a person must be an object with sessions and questions")
    draft = Draft(name=_text(person, "id") or default)
    for number, session in enumerate(_objects(person, "sessions"), start=1):
        name = _text(session, "id") or f"session-{number}"
        if name in draft.sessions:
            raise InvalidInput(f"the id {name} is another session's: give each an id of its own")
        for place, raw in enumerate(_objects(session, "messages", f"session {name}"), start=1):
            what = f"session {name}, message {place}"
            try:
                _read_message(draft, name, raw, what)
            except InvalidInput as error:
                raise InvalidInput(f"{what}: {error}") from None
    for number, asked in enumerate(_objects(person, "questions"), start=1):
        try:
            _read_question(draft, asked, f"q{number}")
        except InvalidInput as error:
            raise InvalidInput(f"question {number}: {error}") from None
    return draft


def _read_message(draft: Draft, session: str, raw: Mapping[str, Any], what: str) -> None:
    role, id = raw.get("role"), _text(raw, "id")
    if role != "user" and role != "assistant":
        raise InvalidInput(f"role must be user or assistant, not {_shown(role)}")
    if id in draft.messages:
        raise InvalidInput(f"the id {id} is another message's: give each an id of its own")
    text, name, time = _text(raw, "text") or "", _text(raw, "name"), _time(raw)
    draft.add_message(session, Message.of(role, text, id=id, name=name, created_at=time), what)


def _read_question(draft: Draft, asked: Mapping[str, Any], label: str) -> None:
    evidence = _ids(asked, "evidence")
    superseded, lost = known_ids(_ids(asked, "not_alone") if "not_alone" in asked else (), draft.messages, noun="not_alone")
    for reason in lost:
        draft.drop(f"question {label}", reason)
    draft.add_question(
        label,
        _text(asked, "text"),
        evidence,
        needed=bool(evidence),
        name=_text(asked, "name"),
        category=_text(asked, "category") or "",
        answer=_text(asked, "answer"),
        at=_time(asked),
        superseded=superseded,
    )


def _text(holder: Mapping[str, Any], key: str) -> str | None:
    """A string; a whole number is read as one, and a missing or empty value as None. Raises `InvalidInput`."""
    value = holder.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 1e18 else _refused(key, "a string", value)
    if value is not None and not isinstance(value, str):
        _refused(key, "a string", value)
    return value or None


def _time(holder: Mapping[str, Any]) -> datetime | None:
    value = _text(holder, "time")
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
