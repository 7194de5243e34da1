"""BEAM: long chats of a user and an assistant, a folder each: `chat.json` and `probing_questions.json` beside it or in a folder
of that name. Where the authors shortened a chat (`chat_trunecated.json`, their spelling) that is what they ask about.

A chat is a list of batches, the longest ones a list of plans with batches each; a batch has turns, each a list of messages.
A batch is a session. A `time_anchor` (a date) is all that is known of the time of the messages from there to the next. Texts
stay as they are, the generator's marks (`->-> 1,1`) included. Evidence is every id in `source_chat_ids`; of a knowledge update
the original is superseded by the update where they are different messages. Abstention questions have no evidence: they are
dropped.
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
from germane.evaluate.formats.json_file import read_json_file
from germane.types.message import Message

__all__ = ["anchor", "chats", "looks_like_chats", "read_beam"]

_CHATS = ("chat_trunecated.json", "chat.json")
_QUESTIONS = ("probing_questions.json", "probing_questions/probing_questions.json")
_ANSWERS = ("answer", "ideal_answer", "ideal_response", "ideal_summary", "expected_compliance")


def chats(path: Path) -> list[Path]:
    """The folders with a chat in them: this one (or the file's own), or those in it by number and name."""
    folder = path.parent if path.name in _CHATS else path
    if _first(folder, _CHATS):
        return [folder]
    found = {inner.parent for name in _CHATS for inner in folder.glob(f"*/{name}")}
    return sorted(found, key=lambda one: (not one.name.isdecimal(), int(one.name) if one.name.isdecimal() else 0, one.name))


def looks_like_chats(path: Path) -> bool:
    """Whether there are folders with chats, or one chat with its questions: many a file is called chat.json."""
    folders = chats(path)
    return bool(folders) and (folders[0].parent == path or _first(folders[0], _QUESTIONS) is not None)


def read_beam(path: Path) -> Iterator[Draft]:
    """A draft a chat. Raises `InvalidInput` naming the file that is missing or isn't one."""
    folders = chats(path)
    if not folders:
        raise InvalidInput(f"{path}: no chat.json in it or in a folder of it")
    for folder in folders:
        draft = Draft(name=folder.name)
        asked = _first(folder, _QUESTIONS)
        if asked is None:
            raise InvalidInput(f"{folder}: probing_questions.json is missing: put it beside chat.json")
        _hear(draft, _first(folder, _CHATS) or folder / "chat.json")
        _ask(draft, asked)
        yield draft


def anchor(text: Any) -> datetime | None:
    """A day, such as `March-15-2024`; None where it can't be read."""
    return time_of(text, "%B-%d-%Y")


def _first(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _hear(draft: Draft, path: Path) -> None:
    found = list(_batches(read_json_file(path).document, "batch"))
    if not found:
        raise InvalidInput(f"{path}: no batch in it: it must be a list of batches with turns")
    for session, batch in found:
        when = anchor(batch.get("time_anchor"))
        said = [message for turn in batch["turns"] for message in (turn if isinstance(turn, list) else [turn])]
        for number, raw in enumerate(said, start=1):
            what = f"{session}, message {number}"
            role = raw.get("role") if isinstance(raw, Mapping) else None
            if role != "user" and role != "assistant":
                draft.drop(what, "it is no message with the role user or assistant")
                continue
            when = anchor(raw.get("time_anchor")) or when
            text, id = raw.get("content"), raw.get("id")
            own = f"{session}:{number}" if id is None else str(id)
            message = Message.of(role, text if isinstance(text, str) else "", id=own, created_at=when)
            draft.add_message(session, message, what)


def _batches(found: Any, called: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Session and batch, out of batches or out of plans with batches."""
    if isinstance(found, Mapping):
        if isinstance(found.get("turns"), list):
            yield f"{called}-{found.get('batch_number', 1)}", found
            return
        for name, inner in found.items():
            yield from _batches(inner, f"{name}-batch")
    elif isinstance(found, list):
        for place, inner in enumerate(found, start=1):
            numbered = isinstance(inner, Mapping) and "turns" in inner and "batch_number" not in inner
            yield from _batches({**inner, "batch_number": place} if numbered else inner, called)


def _ask(draft: Draft, path: Path) -> None:
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
    """A message that states both the old and the new is up to date."""
    if not isinstance(sources, Mapping):
        return set()
    old, new = ({str(id) for id in flat(sources.get(key))} for key in ("original_info", "updated_info"))
    return old - new if new else set()
