"""REALTALK: messages between two people, each with its own time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from germane.errors import InvalidInput
from germane_eval.formats import load
from support.small_sets import messages, questions, realtalk, reasons, written


@pytest.mark.requirement("EVAL-1")
def test_every_message_has_its_own_time_and_its_clean_text(tmp_path: Path) -> None:
    """Times are exact to the second."""
    found = load(written(tmp_path / "Chat_1_Ann_Bo.json", realtalk()))
    first, second = messages(found.conversations[0])
    assert (found.format, found.conversations[0].name) == ("realtalk", "Chat_1_Ann_Bo")
    assert (first.id, first.name, first.text) == ("D1:1", "Ann", "Hi, I ran along the river")
    assert first.created_at == datetime(2023, 12, 29, 0, 51, 12, tzinfo=UTC)
    assert (second.text, second.created_at) == (
        "[shares a photo: a muddy shoe]",
        datetime(2023, 12, 29, 0, 52, tzinfo=UTC),
    )


@pytest.mark.requirement("EVAL-1")
def test_a_picture_without_a_caption_is_dropped_and_so_are_labels_that_name_it(tmp_path: Path) -> None:
    """The list of dropped entries has both."""
    found = load(written(tmp_path / "chat.json", realtalk()))
    (one,) = questions(found)
    assert one.category == "temporal"
    assert one.evidence == {"D1:1"}
    assert reasons(found) == [
        ("chat, session_1, turn 3", "it has no text"),
        ("chat, question q1", "evidence D1:3 names no message: left out"),
    ]


def test_a_message_without_a_time_has_its_sessions(tmp_path: Path) -> None:
    """The session's time is that of its beginning."""
    document = realtalk()
    document["session_1"][1]["date_time"] = ""
    _, second = messages(load(written(tmp_path / "chat.json", document)).conversations[0])
    assert second.created_at == datetime(2023, 12, 29, 0, 51, 12, tzinfo=UTC)


def test_a_list_of_chats_is_read_too(tmp_path: Path) -> None:
    """The chats are named by their position in the file."""
    found = load(written(tmp_path / "all.json", [realtalk(), realtalk()]))
    assert [conversation.name for conversation in found.conversations] == ["all-1", "all-2"]


def test_another_format_is_not_taken_for_it(tmp_path: Path) -> None:
    """A user who names the format gets an error."""
    with pytest.raises(InvalidInput, match="no REALTALK chat"):
        load(written(tmp_path / "a.json", {"messages": []}), format="realtalk")
