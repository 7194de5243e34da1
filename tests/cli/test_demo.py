"""The demo: a person's talk and five requests, or a conversation of one's own and requests that it can answer."""

from __future__ import annotations

import io
import json
import re
import shlex
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from germane import Agent
from germane.cli.demo import print_answer, sample
from germane.cli.imports import BrokenRow, MessageRow
from germane.cli.made_requests import MadeRequest
from support.product_exports import chat, zipped

Run = Callable[..., str]


def blocks(out: str) -> list[list[str]]:
    """The lines of each request: its number stands in the first, behind a blank line."""
    found = re.split(r"\n(?=\n\d+ · )", out.partition("\nnext: ")[0].rstrip("\n"))
    return [block.split("\n") for block in found[1:]]


def parsed(text: str) -> Any:
    return json.loads(text)


def written(path: Path, *talk: tuple[str, str, str]) -> str:
    """A file of messages: role, day and text of each."""
    lines = [
        {"session": day, "id": f"m{number}", "role": role, "created_at": f"{day}T09:{number:02}:00Z", "content": text}
        for number, (role, day, text) in enumerate(talk)
    ]
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), "utf-8")
    return str(path)


def test_the_sample_is_a_persons_talk_with_an_answer_to_each_request() -> None:
    """20 to 30 messages over some weeks; each label is a message of the talk, and only thanks needs none."""
    talk = sample()
    assert isinstance(talk.loaded, tuple)
    turns = [row.message for row in talk.loaded[1] if isinstance(row, MessageRow)]
    assert not [row for row in talk.loaded[1] if isinstance(row, BrokenRow)]
    days = sorted({turn.created_at.date() for turn in turns if turn.created_at})
    assert 20 <= len(turns) <= 30
    assert (days[-1] - days[0]).days >= 21
    said = {turn.id: turn.text for turn in turns}
    assert all(said[id] for request in talk.requests for id in request.evidence)
    assert [bool(request.evidence) for request in talk.requests] == [True, True, True, True, False]
    assert all(request.at and request.at.date() > days[-1] for request in talk.requests)


@pytest.mark.requirement("CLI-1")
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_the_demo_takes_twelve_lines_a_request_at_any_width(run: Run, columns: int) -> None:
    """With a legend before them, and what to type next behind; no line is wider than the terminal but what is to be copied."""
    out = run("demo", columns=columns)
    head, tail = " ".join(out.split("\n\n")[0].split()), out.partition("\nnext: ")[2]
    assert head == (
        "Imported: 2 memories and 28 messages in 6 conversations. * answers it = always shown + also worth its tokens"
    )
    assert [lines[1][:3] for lines in blocks(out)] == ["1 ·", "2 ·", "3 ·", "4 ·", "5 ·"]
    assert max(map(len, blocks(out))) <= 12
    assert all(cell_len(line) <= columns for lines in blocks(out) for line in lines)
    assert "germane demo --db demo.db" in tail
    assert "\x1b[" not in out


def test_what_the_sample_can_answer_today_is_shown_with_its_mark(run: Run) -> None:
    """A fact in other words, the value that holds now, and the day that was named."""
    shown = {lines[1][4:]: lines for lines in blocks(run("demo", columns=200))}
    for kind, words in (
        ("a fact, in other words", "leave my Thursday evenings alone"),
        ("a value that changed", "we open at ten"),
        ("a named day", "Write to Mr Okafor"),
    ):
        assert [line for line in shown[kind] if line.startswith("* ") and words in line], kind
        assert " · shown · " in shown[kind][-1]


def test_json_has_each_context_with_its_labels(run: Run) -> None:
    answers = parsed(run("demo", "--json"))["answers"]
    assert [one["question"] for one in answers] == [request.text for request in sample().requests]
    first = answers[0]
    assert (first["kind"], first["answer"], first["answer_parts"], first["answer_parts_shown"]) == (
        "a fact, in other words", "Thursday", 1, 1,
    )  # fmt: skip
    assert first["messages"][-1]["content"] == first["question"]


def test_own_requests_are_asked_and_a_kept_store_is_named(run: Run, tmp_path: Path) -> None:
    """The commands at the end work as they stand."""
    out = run("demo", "--db", "kept.db", "--ask", "Who is Jonah?", columns=200)
    assert [lines[1:3] for lines in blocks(out)] == [["1 · a request of yours", "> Who is Jonah?"]]
    assert (tmp_path / "kept.db").exists()
    lines = out.partition("next: ")[2].strip().split("\n")
    typed = [shlex.split(line.strip().split("  ")[0]) for line in lines]
    assert [words[:2] for words in typed] == [["germane", name] for name in ("explain", "assemble", "about")]
    for words in typed:
        assert "Jonah" in run(*words[1:], columns=200)
    again = run("demo", "--db", "kept.db", "--ask", "Who is Jonah?", columns=200)
    assert [lines[:-1] for lines in blocks(again)] == [lines[:-1] for lines in blocks(out)]


async def test_what_always_stands_is_marked_and_comes_before_the_rest(agent: Agent) -> None:
    """A line of a profile, and what is pinned; where lines don't fit, what answers stays, then what stands."""
    for number in range(40):
        await agent.remember(f"The shelf {number} holds jars of 蜂蜜 and honey from the valley beyond the ridge, row {number}")
    asked = "Which shelf holds the honey jars?"
    context = await agent.assemble(
        [{"role": "user", "content": asked}], model="gpt-4o", strategy="compact", max_tokens=900, deadline=None
    )
    assert len(context.items) > 12
    answering, standing = context.items[-1], context.items[-2]
    profile = standing.scored._replace(candidate=standing.scored.candidate._replace(source="profile"))
    items = (*context.items[:-2], standing._replace(scored=profile), answering)
    request = MadeRequest(text=asked * 9, kind="a kind", answer="row", evidence=(answering.id, "gone"), all_needed=True)
    for width in (24, 40, 80):
        screen = Console(width=width, record=True, file=io.StringIO())
        print_answer(screen, 7, request, replace(context, items=items))
        lines = screen.export_text().split("\n")[:-1]
        assert len(lines) <= 12
        assert all(cell_len(line) <= width for line in lines)
        marks = [line[:2] for line in lines if line[:2] in ("* ", "= ", "+ ")]
        assert marks[-2:] == ["= ", "* "]
        assert "1 of 2 parts shown" in " ".join(" ".join(lines[-2:]).split())


TALK = (
    ("user", "2026-03-02", "My brother Anselm sent the plans for the boathouse."),
    ("assistant", "2026-03-02", "Shall I read them?"),
    ("user", "2026-03-09", "Anselm wants a slipway. What does a winch cost?"),
    ("assistant", "2026-03-09", "From 300 euros."),
    ("user", "2026-03-16", "Too dear, thanks."),
)


def test_whatever_import_takes_the_demo_takes(run: Run, tmp_path: Path) -> None:
    """A file, standard input, a folder, ChatGPT's zip, an export of another scope, memories alone."""
    talk = written(tmp_path / "talk.jsonl", *TALK)
    asked = [lines[2] for lines in blocks(run("demo", talk))]
    assert asked == [
        "> What do you know about Anselm?",
        "> What do you know about boathouse?",
        "> What did I tell you on 2026-03-09?",
        "> What does a winch cost?",
        "> Thanks, that's all!",
    ]
    assert [lines[2] for lines in blocks(run("demo", "-", stdin=Path(talk).read_text()))] == asked
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.md").write_text("# Anselm\n\nAnselm builds a boathouse.\n")
    assert "> What do you know about Anselm?" in run("demo", "folder")
    (tmp_path / "chat.zip").write_bytes(zipped({"conversations.json": [chat("c", ("user", "Anselm called."))]}).getvalue())
    assert "Imported: 1 message in 1 conversation." in run("demo", "chat.zip")
    run("import", talk, "--org", "acme", "--agent", "boats", "--user", "ines")
    (tmp_path / "export.jsonl").write_text(run("export", "--org", "acme", "--agent", "boats", "--user", "ines"))
    out = run("demo", "export.jsonl", "--db", "kept.db", columns=200)
    assert [lines[2] for lines in blocks(out)] == asked
    assert "germane about --db kept.db --org acme --agent boats --user ines" in out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.json", b"", "empty.json: nothing in it"),
        ("other.json", b'{"a": 1}', "other.json: JSON with the fields a: expected are"),
        ("picture.png", b"\x89PNG\r\n\xff\xfe", "picture.png: not UTF-8"),
        ("broken.zip", b"PK\x03\x04broken", "broken.zip: it isn't a zip archive"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(run: Run, tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    error = run("demo", name, expect=2)
    assert said in error
    assert error.count("\n") == 1


def test_a_locomo_files_own_questions_are_asked(run: Run, tmp_path: Path) -> None:
    """One of each category, with the parts of their answers counted."""
    turns = [
        {"speaker": "Ann", "dia_id": f"D1:{n}", "text": text} for n, text in enumerate(["I bought a kayak.", "It is red."])
    ]
    qa = [
        {"question": "What did Ann buy?", "answer": "a kayak", "evidence": ["D1:0"], "category": 4},
        {"question": "Which colour?", "answer": "red", "evidence": ["D1:0", "D1:1"], "category": 1},
        {"question": "Never?", "evidence": ["D1:1"], "category": 5},
    ]
    conversation = {"speaker_a": "Ann", "speaker_b": "Bo", "session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"}
    (tmp_path / "l.json").write_text(json.dumps({"sample_id": "c", "conversation": conversation, "qa": qa}))
    answers = parsed(run("demo", "l.json", "--json"))["answers"]
    assert [one["question"] for one in answers] == ["Which colour?", "What did Ann buy?", "Thanks, that's all!"]
    assert [one["answer_parts"] for one in answers] == [2, 1, 0]
    with zipfile.ZipFile(tmp_path / "l.zip", "w") as archive:
        archive.write(tmp_path / "l.json", "l.json")
    assert "2 messages in 1 conversation." in run("demo", "l.zip")
