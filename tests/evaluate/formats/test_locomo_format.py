"""LoCoMo: sessions of two people, questions by category, and broken labels."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane.cli.imports.locomo import locomo_time
from germane.errors import InvalidInput
from germane_eval.dataset import Dataset
from germane_eval.formats import load
from support.small_sets import locomo, messages, questions, reasons, written


def loaded(tmp_path: Path, *qa: dict[str, Any], document: Any = None) -> Dataset:
    document = locomo() if document is None else document
    if qa:
        document["qa"] = list(qa)
    return load(written(tmp_path / "conv-1.json", document))


def asked(**fields: Any) -> dict[str, Any]:
    return {"question": "What does Bo keep?", "answer": "bees", "category": 4} | fields


@pytest.mark.requirement("EVAL-1")
def test_sessions_come_by_their_number_at_the_time_that_stands_beside_them(tmp_path: Path) -> None:
    """Session 10 follows session 2; times without a zone are UTC; a time without a session is none."""
    (conversation,) = loaded(tmp_path).conversations
    assert conversation.name == "conv-1"
    assert list(conversation.sessions) == ["session_2", "session_10"]
    assert [message.created_at for message in messages(conversation)][1:] == [
        datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
        datetime(2023, 11, 11, 0, 6, tzinfo=UTC),
    ]


def test_a_turn_is_a_user_message_named_after_its_speaker_with_its_photos_caption(tmp_path: Path) -> None:
    """Some questions are about photos."""
    first = next(messages(loaded(tmp_path).conversations[0]))
    assert (first.id, first.name, first.role) == ("D2:1", "Ann", "user")
    assert first.text == "Look! [shares a photo: a photo of a heron]"


@pytest.mark.requirement("EVAL-1")
def test_categories_have_names_and_adversarial_questions_are_dropped(tmp_path: Path) -> None:
    """The answer of an adversarial question isn't in the conversation."""
    found = loaded(tmp_path)
    assert [(one.id, one.category, one.answer) for one in questions(found)] == [
        ("conv-1/q1", "single-hop", "bees"),
        ("conv-1/q2", "temporal", "2023"),
    ]
    assert reasons(found) == [("conv-1, question q3", "adversarial: its answer isn't in the conversation")]


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize("label", [["D2:1; D2:2"], ["D2:1 D2:2"], ["D:2:1", "D02:02"], "D2:1,D2:2", [["D2:1"], ["D2:2"]]])
def test_joined_and_misspelt_labels_are_mended(tmp_path: Path, label: Any) -> None:
    """Every label that can be understood is used."""
    (one,) = questions(loaded(tmp_path, asked(evidence=label)))
    assert one.evidence == {"D2:1", "D2:2"}


def test_a_label_that_names_nothing_is_left_out_and_said(tmp_path: Path) -> None:
    """The question stays as long as one of its labels is usable."""
    found = loaded(tmp_path, asked(evidence=["D2:2", "D10:19", "D"]))
    assert questions(found)[0].evidence == {"D2:2"}
    assert reasons(found) == [
        ("conv-1, question q1", "evidence D10:19 names no message: left out"),
        ("conv-1, question q1", "evidence 'D' is no message's id: left out"),
    ]


def test_a_question_without_any_evidence_is_dropped(tmp_path: Path) -> None:
    """Recall has no meaning for such a question."""
    found = loaded(tmp_path, asked(evidence=["D2:2"]), asked(evidence=[]), asked(evidence=["D2:2"], question=" "), "when?")  # type: ignore[arg-type]
    assert [reason for _, reason in reasons(found)] == [
        "none of its labels names an existing message",
        "it has no text",
        "must be an object, not str",
    ]


def test_what_cannot_be_read_of_a_session_is_said(tmp_path: Path) -> None:
    """The rest of the session is read."""
    document = locomo()
    document["conversation"]["session_2"] += [{"speaker": "Ann", "dia_id": "D2:3", "text": ""}, "hm"]
    document["conversation"]["session_3"] = "gone"
    assert reasons(loaded(tmp_path, document=document))[:3] == [
        ("conv-1, session_2, turn 3", "it has no text"),
        ("conv-1, session_2, turn 4", "a turn must be an object, not str"),
        ("conv-1, session_3", "must be a list of turns, not str"),
    ]


def test_an_id_that_two_turns_share_is_no_label(tmp_path: Path) -> None:
    """Both turns are kept with different ids; the label is ambiguous."""
    document = locomo()
    document["conversation"]["session_10"].append({"speaker": "Ann", "dia_id": "D10:1", "text": "Pity."})
    found = loaded(tmp_path, document=document)
    assert [message.id for message in messages(found.conversations[0])][2:] == ["D10:1", "D10:1~2"]
    assert ("conv-1, question q2", "evidence D10:1 is the id of several messages: left out") in reasons(found)


def test_a_turn_without_an_id_or_a_time_is_called_by_its_place(tmp_path: Path) -> None:
    """Two readings give the same ids."""
    document = locomo()
    del document["conversation"]["session_10"][0]["dia_id"]
    document["conversation"]["session_10_date_time"] = "some day"
    *_, last = messages(loaded(tmp_path, document=document).conversations[0])
    assert (last.id, last.created_at) == ("D10:1", None)


def test_the_original_file_is_a_list_of_conversations(tmp_path: Path) -> None:
    """The released file holds ten conversations."""
    found = load(written(tmp_path / "locomo10.json", [locomo("conv-1"), locomo("conv-2")]))
    assert [conversation.name for conversation in found.conversations] == ["conv-1", "conv-2"]
    assert (found.name, found.format) == ("locomo10", "locomo")


def test_a_folder_of_files_is_one_data_set(tmp_path: Path) -> None:
    """A conversation without a name is named after its file."""
    for name in ("b", "a"):
        written(tmp_path / f"{name}.json", {key: value for key, value in locomo().items() if key != "sample_id"})
    assert [conversation.name for conversation in load(tmp_path).conversations] == ["a", "b"]


def test_a_stranger_among_the_files_is_named(tmp_path: Path) -> None:
    """A folder with a file of another format isn't measured in part."""
    written(tmp_path / "a.json", locomo())
    written(tmp_path / "b.json", {"unlike": 1})
    with pytest.raises(InvalidInput, match=r"b\.json: no LoCoMo conversation"):
        load(tmp_path)


def test_midnight_and_noon_are_told_apart() -> None:
    """12 am is 0 o'clock."""
    assert locomo_time("12:06 am on 11 November, 2022") == datetime(2022, 11, 11, 0, 6)
    assert locomo_time(None) is locomo_time("noon") is None
