"""Chat exports and LoCoMo files: recognised by their content, read into sessions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from germane.cli.imports import BrokenRow, MessageRow, Row, read
from germane.cli.imports.locomo import questions


def loaded(document: Any, session: str = "talk") -> tuple[str, list[Row]]:
    kind, rows = read(json.dumps(document).encode(), session)
    return kind, list(rows)


def node(id: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    message = {"id": id, "author": {"role": role}, "content": {"content_type": "text", "parts": [text]}, **more}
    return {"id": id, "parent": parent, "children": [], "message": message}


def tree(**more: Any) -> dict[str, Any]:
    nodes = [
        {"id": "root", "parent": None, "message": None},
        node("q", "root", "user", "What is a fen?", create_time=1.0),
        node("old", "q", "assistant", "A kind of pen.", create_time=2.0),
        node("new", "q", "assistant", "A kind of marsh.", create_time=3.0),
    ]
    return {"conversation_id": "c1", "mapping": {each["id"]: each for each in nodes}, **more}


def texts(rows: list[Row]) -> list[str]:
    return [row.message.text for row in rows if isinstance(row, MessageRow)]


def test_of_a_tree_the_branch_that_was_on_screen_is_read() -> None:
    """`current_node` and its parents, root first."""
    kind, rows = loaded([tree(current_node="old")])
    assert kind == "chatgpt"
    assert texts(rows) == ["What is a fen?", "A kind of pen."]
    assert {row.session for row in rows if isinstance(row, MessageRow)} == {"c1"}


def test_without_a_current_node_the_newest_branch_is_read() -> None:
    """The leaf with the latest message wins."""
    assert texts(loaded([tree(current_node="gone")])[1]) == ["What is a fen?", "A kind of marsh."]


def test_a_cycle_of_parents_ends() -> None:
    """A broken tree can't hang the import."""
    nodes = {"a": node("a", "b", "user", "first"), "b": node("b", "a", "user", "second")}
    assert sorted(texts(loaded([{"mapping": nodes, "current_node": "a"}])[1])) == ["first", "second"]


def test_hidden_and_empty_nodes_are_passed_over() -> None:
    """Hidden and empty nodes are not messages of the conversation."""
    hidden = node("h", None, "system", "secret", metadata={"is_visually_hidden_from_conversation": True})
    empty = node("e", "h", "assistant", "")
    said = node("s", "e", "user", "hello")
    _, rows = loaded([{"mapping": {"h": hidden, "e": empty, "s": said}, "current_node": "s"}])
    assert texts(rows) == ["hello"]
    assert not [row for row in rows if isinstance(row, BrokenRow)]


def test_a_messages_file_is_one_session() -> None:
    """`{"messages": […]}` gets the file's name as its session unless it names one."""
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}]
    kind, rows = loaded({"messages": messages}, "holiday")
    assert kind == "messages"
    assert [row.session for row in rows if isinstance(row, MessageRow)] == ["holiday", "holiday"]
    assert texts(rows) == ["a", "b"]


def test_a_bare_list_of_messages_is_read_too() -> None:
    """The shape a request has."""
    assert loaded([{"role": "user", "content": "a"}])[0] == "messages"


def locomo() -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "Later"}],
            "session_10_date_time": "12:06 am on 11 November, 2022",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "Look!", "blip_caption": "a photo of a cat"},
                {"speaker": "Bo", "dia_id": "D2:2", "text": ""},
            ],
            "session_2_date_time": "1:56 pm on 8 May, 2023",
            "session_11_date_time": "1:56 pm on 8 May, 2024",
        },
        "qa": [
            {"question": "When?", "answer": 2022, "evidence": ["D8:6; D9:17"], "category": 2},
            {"question": "Never?", "evidence": ["D1:1"], "category": 5, "adversarial_answer": "x"},
        ],
    }


def test_locomo_sessions_come_in_order_of_their_number_with_their_time() -> None:
    """Session 10 follows session 2; a turn's time is its session's, naive as in the file."""
    kind, rows = loaded(locomo())
    turns = [row for row in rows if isinstance(row, MessageRow)]
    assert kind == "locomo"
    assert [turn.session for turn in turns] == ["conv-1/session_2", "conv-1/session_10"]
    assert turns[0].message.created_at == datetime(2023, 5, 8, 13, 56)
    assert (turns[0].message.id, turns[0].message.name, turns[0].message.role) == ("D2:1", "Ann", "user")


def test_a_shared_photos_caption_is_part_of_what_was_said() -> None:
    """Questions are asked about photos too."""
    assert texts(loaded(locomo())[1])[0] == "Look! [shares a photo: a photo of a cat]"


def test_an_empty_turn_is_reported() -> None:
    """Every row that can't be used is reported."""
    assert [row.where for row in loaded(locomo())[1] if isinstance(row, BrokenRow)] == ["session_2, turn 2"]


def test_a_session_without_a_readable_time_is_read_without_one() -> None:
    """The messages are read even where their time can't be."""
    document = locomo()
    document["conversation"]["session_2_date_time"] = "some day in May"
    _, rows = loaded(document)
    assert any(isinstance(row, BrokenRow) and "date_time" in row.why for row in rows)
    assert next(row for row in rows if isinstance(row, MessageRow)).message.created_at is None


def test_questions_have_an_answer_and_their_evidence_apart() -> None:
    """Adversarial questions have none and are left out; strings that hold several ids are split."""
    (asked,) = questions(locomo())
    assert asked == ("When?", "2022", ("D8:6", "D9:17"), 2)
