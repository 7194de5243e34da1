"""Requests: the user's own recorded requests, read strictly line by line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane_eval.dataset import Dataset
from germane_eval.formats import load
from support.small_sets import messages, questions, reasons


def said(id: str | None, content: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more} | ({} if id is None else {"id": id})


M1 = said("m1", "I live in Vienna", created_at="2025-05-01T09:00:00+02:00")
M2 = {"role": "assistant", "id": "m2", "content": [{"type": "text", "text": "A fine city"}]}
ASKED: dict[str, Any] = {"question": "Where does she live?", "evidence": ["m1"]}


def lines(tmp_path: Path, *found: dict[str, Any] | str, name: str = "mine.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in found), "utf-8")
    return path


def loaded(tmp_path: Path, *found: dict[str, Any] | str) -> Dataset:
    return load(lines(tmp_path, *found))


@pytest.mark.requirement("EVAL-1")
def test_a_line_holds_what_was_said_and_what_is_asked(tmp_path: Path) -> None:
    """Messages, question and evidence are enough."""
    found = loaded(tmp_path, {"messages": [M1, M2], **ASKED})
    (conversation,) = found.conversations
    assert (found.format, conversation.name, list(conversation.sessions)) == ("requests", "line-1", ["1"])
    assert [(one.id, one.role, one.text) for one in messages(conversation)] == [
        ("m1", "user", "I live in Vienna"),
        ("m2", "assistant", "A fine city"),
    ]
    (one,) = conversation.questions
    assert (one.id, one.text) == ("line-1/line-1", "Where does she live?")
    assert one.evidence == {"m1"}


@pytest.mark.requirement("EVAL-1")
def test_whatever_is_optional_is_read(tmp_path: Path) -> None:
    """Times without a zone are UTC."""
    asked = {"id": "q7", "category": "address", "answer": 42, "at": "2025-06-01T10:00", "superseded": ["m0"]}
    told = [said("m0", "I live in Graz"), M1]
    found = loaded(tmp_path, {"conversation": "anna", "session": "mon", "messages": told, **ASKED, **asked, "metadata": 1})
    (one,) = questions(found)
    assert (one.id, one.category, one.answer) == ("anna/q7", "address", "42")
    assert one.superseded == {"m0"}
    assert one.at == datetime(2025, 6, 1, 10, tzinfo=UTC)
    assert list(found.conversations[0].sessions) == ["mon"]


@pytest.mark.requirement("EVAL-1")
def test_lines_of_a_conversation_share_what_was_said(tmp_path: Path) -> None:
    """Messages may be given once, before or after the question, or with each line."""
    found = loaded(
        tmp_path,
        {"conversation": "anna", **ASKED},
        "",
        {"conversation": "anna", "messages": [M1]},
        {"conversation": "anna", "messages": [M1, M2], **ASKED},
    )
    (conversation,) = found.conversations
    assert [one.id for one in messages(conversation)] == ["m1", "m2"]
    assert [one.id for one in conversation.questions] == ["anna/line-1", "anna/line-4"]


def test_a_message_without_an_id_is_called_by_its_session_and_place(tmp_path: Path) -> None:
    """A history that grows from line to line keeps its ids; a message may say its own session."""
    history = [said(None, "one"), said(None, "two", session="tue")]
    found = loaded(
        tmp_path,
        {"conversation": "c", "session": "mon", "messages": history[:1]},
        {"conversation": "c", "session": "mon", "messages": history, "question": "?", "evidence": ["mon:1", "tue:2"]},
    )
    assert questions(found)[0].evidence == {"mon:1", "tue:2"}
    assert list(found.conversations[0].sessions) == ["mon", "tue"]


@pytest.mark.requirement("EVAL-1")
def test_evidence_may_be_a_memory(tmp_path: Path) -> None:
    """The evidence has the id that the file gives to the memory."""
    memories = [{"id": "city", "kind": "fact", "key": "city", "value": "Vienna", "tags": ["home"]}, {"text": "Likes trams"}]
    found = loaded(tmp_path, {"messages": [M1], "memories": memories, "question": "Where?", "evidence": ["city"]})
    fact, note = found.conversations[0].memories
    assert (fact.id, fact.kind, fact.text) == ("city", "fact", None)
    assert fact.given == {"key": "city", "value": "Vienna", "tags": ["home"]}
    assert (note.id, note.kind, note.text) == ("line-1:memory-2", "note", "Likes trams")
    assert questions(found)[0].evidence == {"city"}


def test_labels_that_name_nothing_are_left_out_and_said(tmp_path: Path) -> None:
    """Superseded ones as well; system messages aren't kept, so they can't be evidence."""
    system = {"role": "system", "id": "s", "content": "Be kind"}
    line = {"messages": [system, M1], "question": "Where?", "evidence": ["m1", "s"], "superseded": ["m9"]}
    assert reasons(loaded(tmp_path, line)) == [
        ("line-1, session 1, message s", "system messages aren't recorded"),
        ("line-1, question line-1", "superseded m9 names no message: left out"),
        ("line-1, question line-1", "evidence s names no message: left out"),
    ]


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{oops", "not JSON: "),
        ("[1]", "must be an object with messages and a question, not list"),
        ({**ASKED, "evidences": []}, "unknown evidences: known are answer, "),
        ({"evidence": ["m1"]}, "evidence without a question"),
        ({**ASKED, "messages": {}}, "messages must be a list, not dict"),
        ({**ASKED, "messages": [M1, "hm"]}, "message 2: message is str"),
        ({**ASKED, "messages": [{"role": "cat", "content": "miaow"}]}, "message 1: role 'cat' is unknown"),
        ({**ASKED, "messages": [M1, said("m1", "I live in Graz")]}, "message 2: its id m1 is another message's"),
        ({**ASKED, "memories": ["hm"]}, "memory 1: must be an object"),
        ({**ASKED, "memories": [{"text": "x", "kind": "hunch"}]}, "memory 1: kind 'hunch' is unknown"),
        ({**ASKED, "memories": [{"text": "x", "kind": 3}]}, "memory 1: kind '3' is unknown"),
        ({**ASKED, "memories": [{"kind": "fact", "value": 1}]}, "memory 1: a fact needs its key"),
        ({**ASKED, "messages": [M1], "memories": [{"id": "m1", "text": "x"}]}, "memory 1: its id m1 is another"),
        ({**ASKED, "messages": [M1], "at": "soon"}, "created_at|at "),
        ({**ASKED, "messages": [M1], "category": []}, "category must be a string, not list"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_with_what_is_wrong(
    tmp_path: Path, line: dict[str, Any] | str, message: str
) -> None:
    """A broken line stops the reading: half of the user's file would give wrong figures."""
    with pytest.raises(InvalidInput, match=rf"mine\.jsonl, line 2: .*({message})"):
        loaded(tmp_path, {"messages": [said("m0", "hello")], "question": "?", "evidence": ["m0"]}, line)


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    """Their results would have the same id."""
    line = {"conversation": "anna", "messages": [M1], "id": "q", **ASKED}
    with pytest.raises(InvalidInput, match="line 2: the id q is another question's"):
        loaded(tmp_path, line, line)


def test_a_line_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    """The error names the line and the byte."""
    (tmp_path / "mine.jsonl").write_bytes(b'{"question": "\xff"}')
    with pytest.raises(InvalidInput, match=r"mine\.jsonl, line 1: not UTF-8 at byte 15"):
        load(tmp_path / "mine.jsonl")


def test_several_files_are_told_apart_by_their_names(tmp_path: Path) -> None:
    """Lines are counted within each file."""
    for name in ("a.jsonl", "b.jsonl"):
        lines(tmp_path, {"messages": [M1], **ASKED}, name=name)
    assert [conversation.name for conversation in load(tmp_path).conversations] == ["a/line-1", "b/line-1"]


@pytest.mark.parametrize("name", ["mine.jsonl", "mine.json", "mine.log"])
@pytest.mark.parametrize("count", [1, 2])
def test_the_shape_tells_the_format(tmp_path: Path, name: str, count: int) -> None:
    """The file name doesn't matter, and a single line is a request."""
    path = lines(tmp_path, *[{"messages": [M1], **ASKED}] * count, name=name)
    path.write_bytes(b"\xef\xbb\xbf\n" + path.read_bytes())
    found = load(path)
    assert (found.format, len(found.conversations)) == ("requests", count)
