"""BEAM: long chats of a user and an assistant, a folder each: `chat.json` and `probing_questions.json`.

A chat is a list of batches, each with its turns, each a list of messages; a batch is a session. A `time_anchor` (a date) is
all that is known of the time of the messages from there to the next. Texts stay as they are, the generator's marks
(`->-> 1,1`) included. Evidence is every id in `source_chat_ids`; of a knowledge update the original is superseded by the
update where they are different messages. Abstention questions have no evidence: they are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput
from germane.evaluate.formats.dialogue import time_of
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.evidence import flat
from germane.evaluate.formats.file import opened
from germane.message import Message

__all__ = ["chats", "read_beam"]

_QUESTIONS = ("probing_questions.json", "probing_questions/probing_questions.json")
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def chats(path: Path) -> list[Path]:
    """The folders with a chat in them: this one, or those in it by number and name."""
    folder = path.parent if path.name == "chat.json" else path
    if (folder / "chat.json").is_file():
        return [folder]
    found = [inner.parent for inner in folder.glob("*/chat.json")]
    return sorted(found, key=lambda one: (not one.name.isdecimal(), int(one.name) if one.name.isdecimal() else 0, one.name))


def read_beam(path: Path) -> Iterator[Draft]:
    """A draft a chat. Raises `InvalidInput` naming the file that is missing or isn't one."""
    folders = chats(path)
    if not folders:
        raise InvalidInput(f"{path}: no chat.json in it or in a folder of it")
    for folder in folders:
        draft = Draft(name=folder.name)
        _hear(draft, folder / "chat.json")
        asked = next((folder / name for name in _QUESTIONS if (folder / name).is_file()), None)
        if asked is None:
            raise InvalidInput(f"{folder}: probing_questions.json is missing: put it beside chat.json")
        _ask(draft, asked)
        yield draft


def _hear(draft: Draft, path: Path) -> None:
    batches = opened(path).document
    if not isinstance(batches, list):
        raise InvalidInput(f"{path}: must be a list of batches, not {type(batches).__name__}")
    for place, batch in enumerate(batches, start=1):
        turns = batch.get("turns") if isinstance(batch, Mapping) else None
        if not isinstance(turns, list):
            raise InvalidInput(f"{path}: batch {place} has no list of turns")
        number = batch.get("batch_number", place)
        when = _date(batch.get("time_anchor"))
        said = [message for turn in turns for message in (turn if isinstance(turn, list) else [turn])]
        for nth, raw in enumerate(said, start=1):
            what = f"batch {number}, message {nth}"
            if not isinstance(raw, Mapping) or raw.get("role") not in ("user", "assistant"):
                draft.drop(what, "it is no message with the role user or assistant")
                continue
            when = _date(raw.get("time_anchor")) or when
            id = str(raw["id"]) if raw.get("id") is not None else f"b{number}-{nth}"
            text = raw.get("content")
            message = Message.of(raw["role"], text if isinstance(text, str) else "", id=id, created_at=when)
            draft.say(f"batch-{number}", message, what)


def _ask(draft: Draft, path: Path) -> None:
    document = opened(path).document
    if not isinstance(document, Mapping):
        raise InvalidInput(f"{path}: must be an object of question types, not {type(document).__name__}")
    for category, listed in document.items():
        for number, asked in enumerate(listed if isinstance(listed, list) else [listed], start=1):
            id = f"{category}-{number}"
            if not isinstance(asked, Mapping):
                draft.drop(f"question {id}", f"must be an object, not {type(asked).__name__}")
            elif category == "abstention":
                draft.drop(f"question {id}", "abstention: its answer isn't in the chat")
            else:
                draft.ask(
                    id,
                    asked.get("question"),
                    asked.get("source_chat_ids"),
                    category=category,
                    answer=next((asked[key] for key in _ANSWERS if asked.get(key) is not None), None),
                    superseded=_superseded(asked.get("source_chat_ids")),
                )


def _superseded(sources: Any) -> set[str]:
    """A message that states both the old and the new is up to date."""
    if not isinstance(sources, Mapping) or "updated_info" not in sources:
        return set()
    old, new = ({str(id) for id in flat(sources.get(key))} for key in ("original_info", "updated_info"))
    return old - new if new else set()


def _date(text: Any) -> datetime | None:
    return time_of(text, "%B-%d-%Y")
