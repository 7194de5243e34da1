"""BEAM: reads the BEAM data set, long chats of a user with an assistant, one folder for each chat.

A folder holds `chat.json`, and `probing_questions.json` beside it or in a folder `probing_questions`. A shortened chat
(`chat_trunecated.json`, in the authors' spelling) replaces `chat.json`, because the questions are about it.

A chat is a list of batches; the longest chats are lists of plans with batches. A batch is a session: it has turns, and each
turn is a list of messages. A `time_anchor` (a date) is the time of all messages up to the next anchor. Texts stay as they are,
with the marks of the generator (`->-> 1,1`). Every id in `source_chat_ids` is evidence. In a question about a knowledge update,
the original message is superseded by the update, unless one message states both. Abstention questions have no evidence and are
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
    """The folders that hold a chat: `path` itself, or the folder of the file `path`, or the folders in `path`, sorted by number
    and name."""
    folder = path.parent if path.name in _CHATS else path
    if _first(folder, _CHATS):
        return [folder]
    found = {inner.parent for name in _CHATS for inner in folder.glob(f"*/{name}")}
    return sorted(
        found, key=lambda chat: (not chat.name.isdecimal(), int(chat.name) if chat.name.isdecimal() else 0, chat.name)
    )


def looks_like_chats(path: Path) -> bool:
    """Whether `path` is a folder with chats, or a chat with its questions. A lone `chat.json` isn't enough: the name is
    common."""
    folders = chats(path)
    return bool(folders) and (folders[0].parent == path or _first(folders[0], _QUESTIONS) is not None)


def read_beam(path: Path) -> Iterator[Draft]:
    """Yields one draft for each chat. Raises `InvalidInput` naming the file that is missing or has another format."""
    folders = chats(path)
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


def anchor(text: Any) -> datetime | None:
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
        when = anchor(batch.get("time_anchor"))
        said = [message for turn in batch["turns"] for message in (turn if isinstance(turn, list) else [turn])]
        for number, raw in enumerate(said, start=1):
            what = f"{session}, message {number}"
            role = raw.get("role") if isinstance(raw, Mapping) else None
            if role != "user" and role != "assistant":
                draft.drop(what, "it isn't a message with the role user or assistant")
                continue
            when = anchor(raw.get("time_anchor")) or when
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
    old, new = ({str(id) for id in flat(sources.get(key))} for key in ("original_info", "updated_info"))
    return old - new if new else set()
