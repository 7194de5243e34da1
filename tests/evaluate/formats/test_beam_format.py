"""BEAM: chats in batches, and questions whose sources have many shapes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane_eval.formats import load
from support.small_sets import beam, messages, questions, reasons, said, written


def asked(**fields: Any) -> list[dict[str, Any]]:
    return [{"question": "How fast is the API?", "answer": "250 ms", **fields}]


@pytest.mark.requirement("EVAL-1")
def test_a_batch_is_a_session_dated_by_its_anchor(tmp_path: Path) -> None:
    """A date in one message of a batch holds for the following ones too."""
    (chat,) = load(beam(tmp_path / "7")).conversations
    assert chat.name == "7"
    assert {session: [message.id for message in talk] for session, talk in chat.sessions.items()} == {
        "batch-1": ["0", "1", "2", "3"],
        "batch-2": ["4", "5"],
    }
    assert {message.created_at for message in chat.sessions["batch-1"]} == {datetime(2024, 3, 15, tzinfo=UTC)}
    assert {message.created_at for message in chat.sessions["batch-2"]} == {datetime(2024, 4, 5, tzinfo=UTC)}


def test_texts_and_roles_stay_as_they_are(tmp_path: Path) -> None:
    """The generator's marks stay, because other evaluations measure them too."""
    first, second, *_ = messages(load(beam(tmp_path / "7")).conversations[0])
    assert (first.role, first.text) == ("user", "My sprint ends on 29 March. ->-> 1,1")
    assert (second.role, second.name) == ("assistant", None)


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("sources", "evidence"),
    [
        ([0, 2], {"0", "2"}),
        ([[0], [2, 4]], {"0", "2", "4"}),
        ({"first_statement": [0], "second_statement": [[2]]}, {"0", "2"}),
        (3, {"3"}),
        ([0, 99], {"0"}),
    ],
)
def test_sources_are_read_out_of_lists_and_mappings(tmp_path: Path, sources: Any, evidence: set[str]) -> None:
    """The lists may be nested at any depth."""
    found = load(beam(tmp_path / "7", temporal_reasoning=asked(source_chat_ids=sources)))
    assert questions(found)[0].evidence == evidence
    assert [reason for _, reason in reasons(found)] == ["evidence 99 names no message: left out"] * str(sources).count("99")


@pytest.mark.parametrize(
    ("original", "updated", "superseded"),
    [([2], [4], {"2"}), ([2, 3], [3], {"2"}), ([4], [4], set()), ([2], [], set())],
)
def test_of_an_update_the_original_is_superseded(
    tmp_path: Path, original: list[int], updated: list[int], superseded: set[str]
) -> None:
    """Nothing is superseded where one message states both, or where no update is named."""
    sources = {"original_info": original, "updated_info": updated}
    (one,) = questions(load(beam(tmp_path / "7", knowledge_update=asked(source_chat_ids=sources))))
    assert one.superseded == superseded
    assert one.evidence == {str(id) for id in original + updated}


def test_of_a_contradiction_nothing_is_superseded(tmp_path: Path) -> None:
    """A good context shows both statements."""
    sources = {"first_statement": [2], "second_statement": [4]}
    (one,) = questions(load(beam(tmp_path / "7", contradiction_resolution=asked(source_chat_ids=sources))))
    assert one.superseded == set()


@pytest.mark.requirement("EVAL-1")
def test_abstention_and_unlabelled_questions_are_dropped(tmp_path: Path) -> None:
    """They have no evidence that could be found."""
    chat = beam(
        tmp_path / "7",
        abstention=asked(),
        preference_following=[*asked(source_chat_ids=[]), "?"],
        summarization=[{"question": "Sum it up", "ideal_summary": "faster", "source_chat_ids": [4]}],
    )
    found = load(chat)
    assert [(one.id, one.category, one.answer) for one in questions(found)] == [
        ("7/summarization-1", "summarization", "faster")
    ]
    assert reasons(found) == [
        ("7, question abstention-1", "abstention: its answer isn't in the chat"),
        ("7, question preference_following-1", "none of its labels names an existing message"),
        ("7, question preference_following-2", "must be an object, not str"),
    ]


def test_a_folder_of_chats_is_read_by_number(tmp_path: Path) -> None:
    """Chat 10 follows chat 2; the path of a chat's file stands for its folder."""
    for name in ("10", "2", "extra"):
        beam(tmp_path / name)
    assert [chat.name for chat in load(tmp_path).conversations] == ["2", "10", "extra"]
    assert load(tmp_path / "2" / "chat.json").format == "beam"


def test_questions_in_a_folder_of_their_own_and_a_shortened_chat_are_found(tmp_path: Path) -> None:
    """This is the layout of the original repository."""
    folder = beam(tmp_path / "1")
    (folder / "probing_questions.json").rename(folder / "moved")
    (folder / "probing_questions").mkdir()
    (folder / "moved").rename(folder / "probing_questions" / "probing_questions.json")
    written(folder / "chat_trunecated.json", [{"batch_number": 1, "turns": [[said(0, "user", "It ends on 29 March.")]]}])
    (chat,) = load(tmp_path).conversations
    assert [message.text for message in messages(chat)] == ["It ends on 29 March."]


def test_a_chat_in_plans_keeps_them_apart_and_labels_that_several_share_are_left_out(tmp_path: Path) -> None:
    """In the longest chats ids begin anew with every plan."""
    folder = beam(tmp_path / "1", event_ordering=asked(source_chat_ids=[0, 9]))
    plans = [
        {"plan-0": [{"batch_number": 1, "turns": [[said(0, "user", "one"), said(9, "assistant", "nine")]]}]},
        {"plan-1": [{"turns": [[said(0, "user", "another")]]}]},
    ]
    written(folder / "chat.json", plans)
    found = load(folder)
    assert list(found.conversations[0].sessions) == ["plan-0-batch-1", "plan-1-batch-1"]
    assert questions(found)[0].evidence == {"9"}
    assert reasons(found) == [("1, question event_ordering-1", "evidence 0 is the id of several messages: left out")]


def test_what_is_no_message_is_dropped(tmp_path: Path) -> None:
    """The list of dropped entries names its position."""
    folder = beam(tmp_path / "1")
    written(folder / "chat.json", [{"batch_number": 3, "turns": [["hm", said(0, "user", "It ends on 29 March.")]]}])
    assert reasons(load(folder)) == [("1, batch-3, message 1", "it isn't a message with the role user or assistant")]


@pytest.mark.parametrize(
    ("file", "document", "message"),
    [
        ("chat.json", {"a": 1}, r"chat\.json: no batch in it"),
        ("probing_questions.json", [], r"probing_questions\.json: must be an object"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, file: str, document: Any, message: str) -> None:
    """The error says what the file should contain."""
    written(beam(tmp_path / "1") / file, document)
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path / "1")


def test_a_chat_without_questions_is_an_error_that_names_its_folder(tmp_path: Path) -> None:
    """The user meant to measure that chat."""
    (beam(tmp_path / "1") / "probing_questions.json").unlink()
    with pytest.raises(InvalidInput, match=r"1: probing_questions\.json is missing"):
        load(tmp_path)


def test_a_folder_without_a_chat_is_none(tmp_path: Path) -> None:
    """A user who names the format gets an error."""
    with pytest.raises(InvalidInput, match=r"no chat\.json"):
        load(tmp_path, format="beam")
