"""Load: every format by its shape, errors that name the file, and the development sets where they are present."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput, UnknownName
from germane_eval.formats import FORMATS, load
from support.small_sets import beam, everyday, locomo, longmemeval, questions, realtalk, written

DATA = Path(__file__).parents[3].parent / "shared" / "data"


@pytest.mark.requirement("EVAL-1")
@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("locomo", locomo()),
        ("locomo", [locomo()]),
        ("realtalk", realtalk()),
        ("longmemeval", [longmemeval()]),
        ("longmemeval", longmemeval()),
        ("everyday", everyday()),
        ("everyday", [everyday("nuno"), everyday("rosa")]),
    ],
)
def test_a_files_format_is_told_by_its_shape(tmp_path: Path, format: str, document: Any) -> None:
    """The file name doesn't matter, and naming the format gives the same data set."""
    path = written(tmp_path / "data", document)
    assert load(path).format == format
    assert load(path) == load(path, format=format)


def test_every_format_has_a_name() -> None:
    """The order is that of the documentation."""
    assert FORMATS == ("locomo", "beam", "realtalk", "longmemeval", "everyday", "requests")


@pytest.mark.parametrize("document", [[], {}, [1], {"conversation": {}}, {"session_1_date_time": "now"}, None])
def test_a_file_in_no_known_format_is_an_error_that_lists_them(tmp_path: Path, document: Any) -> None:
    """And says where their shapes are described."""
    with pytest.raises(InvalidInput, match=r"data: in none of the formats locomo, beam, .*docs/use/evaluate\.md"):
        load(written(tmp_path / "data", document))


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    """The error lists the known formats."""
    with pytest.raises(UnknownName, match="unknown format 'csv': give one of locomo, beam"):
        load(tmp_path, format="csv")


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The error shows the path as it was given."""
    with pytest.raises(InvalidInput, match="nowhere: no such file or folder"):
        load(tmp_path / "nowhere")


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    """The error says what the folder should contain."""
    with pytest.raises(InvalidInput, match=r"no \.json or \.jsonl file"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1,\n oops}', "data: not JSON at line 2, column 2"),
        (b'{"a": "\xff"}', "data: not UTF-8 at byte 8"),
        (b"[" * 200_000, "data: not JSON that can be read"),
    ],
)
def test_a_file_that_is_no_json_is_named_with_the_place(tmp_path: Path, content: bytes, message: str) -> None:
    """The error names the line or byte, so that a person can look there."""
    (tmp_path / "data").write_bytes(content)
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path / "data")


def test_a_data_set_in_which_nothing_can_be_measured_says_why(tmp_path: Path) -> None:
    """The error shows the first reason."""
    document = locomo() | {"qa": [{"question": "When?", "evidence": ["D9:9"], "category": 2}]}
    with pytest.raises(InvalidInput, match=r"no question .*the first reason: conv-1, question q1: evidence D9:9 names no"):
        load(written(tmp_path / "data.json", document))


def test_the_same_conversation_in_two_files_is_refused(tmp_path: Path) -> None:
    """Its questions would count twice."""
    for name in ("a", "b"):
        written(tmp_path / f"{name}.json", locomo())
    with pytest.raises(InvalidInput, match="the conversation conv-1 is in it twice"):
        load(tmp_path)


def test_a_conversation_that_nothing_is_asked_of_is_left_out_and_said(tmp_path: Path) -> None:
    """Recording it would only take time."""
    found = load(written(tmp_path / "data.json", [locomo("a"), locomo("b") | {"qa": []}]))
    assert [conversation.name for conversation in found.conversations] == ["a"]
    assert ("b", "it has no questions") in [(dropped.where, dropped.reason) for dropped in found.dropped]


def test_a_folder_with_chats_wins_over_the_files_beside_them(tmp_path: Path) -> None:
    """A chat is a folder; the files beside it are notes."""
    beam(tmp_path / "1")
    written(tmp_path / "notes.json", {})
    assert load(tmp_path).format == "beam"


def category_counts(name: str) -> Counter[str]:
    if not (DATA / name).is_dir():
        pytest.skip(f"the development set {name} isn't beside the repository")
    return Counter(question.category for question in questions(load(DATA / name)))


@pytest.mark.requirement("EVAL-1")
def test_the_whole_development_half_of_locomo_is_read() -> None:
    """The half has 760 questions of the four categories with an answer."""
    assert category_counts("locomo-dev") == {"single-hop": 418, "temporal": 156, "multi-hop": 142, "open-domain": 44}


@pytest.mark.requirement("EVAL-1")
def test_the_whole_development_half_of_beam_is_read() -> None:
    """The half has 20 questions of each of nine types, except one without a label."""
    found = category_counts("beam-100k-dev")
    assert found.pop("preference_following") == 19
    assert len(found) == 8
    assert set(found.values()) == {20}
