"""LoCoMo: long conversations of two people, in numbered sessions, with questions about them.

One object a conversation (`conversation`, `qa`, `sample_id`), or a list of them. Turns are `user` messages named after their
speaker; `dia_id` is the message's id; a session's time is all that is known of its turns' times. Adversarial questions
(category 5) have no answer in the conversation: they are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.evaluate.formats.dialogue import Session, numbered, said, time_of
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.evidence import dialogue_ids
from germane.evaluate.formats.file import File
from germane.message import Message

__all__ = ["CATEGORIES", "read_locomo", "samples", "session_time"]

CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"})


def read_locomo(files: Iterable[File]) -> Iterator[Draft]:
    """A draft a conversation. Raises `InvalidInput` naming the file that isn't one."""
    for path, document in files:
        found = samples(document)
        if not found:
            raise InvalidInput(f"{path}: no LoCoMo conversation in it: each needs conversation: {{session_1: [...]}}")
        for number, sample in enumerate(found, start=1):
            called = sample.get("sample_id")
            standing_in = path.stem if len(found) == 1 else f"{path.stem}-{number}"
            yield _drafted(sample, called if isinstance(called, str) and called else standing_in)


def samples(document: Any) -> list[Mapping[str, Any]]:
    """The conversations of a file; none where it is in another format."""
    listed = document if isinstance(document, list) else [document]
    return [sample for sample in listed if isinstance(sample, Mapping) and _spoken(sample)]


def session_time(text: Any) -> datetime | None:
    """A session's naive time, such as `1:56 pm on 8 May, 2023`; None where it can't be read."""
    return time_of(text, "%I:%M %p on %d %B, %Y")


def _spoken(sample: Mapping[str, Any]) -> list[Session]:
    conversation = sample.get("conversation")
    return list(numbered(conversation)) if isinstance(conversation, Mapping) else []


def _drafted(sample: Mapping[str, Any], name: str) -> Draft:
    draft = Draft(name=name)
    for session in _spoken(sample):
        if not isinstance(session.turns, list):
            draft.drop(session.name, f"must be a list of turns, not {type(session.turns).__name__}")
            continue
        when = session_time(session.time)
        for number, turn in enumerate(session.turns, start=1):
            what = f"{session.name}, turn {number}"
            try:
                speaker, text, id = said(turn)
            except InvalidInput as error:
                draft.drop(what, str(error))
                continue
            own = id or f"D{session.number}:{number}"
            draft.say(session.name, Message.of("user", text, id=own, name=speaker, created_at=when), what)
    for number, asked in enumerate(sample.get("qa") or (), start=1):
        if not isinstance(asked, Mapping):
            draft.drop(f"question q{number}", f"must be an object, not {type(asked).__name__}")
        else:
            _ask(draft, f"q{number}", asked)
    return draft


def _ask(draft: Draft, id: str, asked: Mapping[str, Any]) -> None:
    category = asked.get("category")
    if category == 5:
        draft.drop(f"question {id}", "adversarial: its answer isn't in the conversation")
        return
    called = CATEGORIES.get(category, str(category)) if isinstance(category, int) else str(category or "")
    draft.ask(id, asked.get("question"), asked.get("evidence"), read=dialogue_ids, category=called, answer=asked.get("answer"))
