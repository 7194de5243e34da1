"""`germane eval fit` and `germane eval label`, as typed."""

from __future__ import annotations

import io
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main
from germane.sync import Germane
from support.small_sets import everyday, written

SUBJECTS = ("kayak", "piano", "garden", "violin", "bakery", "marathon")
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a folder with recorded requests of two conversations; answers stdout, or stderr of a failure."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_SETTINGS", "GERMANE_RELEVANCE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b""), encoding="utf-8"))
    Path("mine.jsonl").write_text("\n".join(json.dumps(line) for name in ("ana", "ben") for line in requests(name)), "utf-8")

    def command(*arguments: str, expect: int = 0) -> str:
        code = main(list(arguments))
        out, err = capsys.readouterr()
        assert code == expect, err
        return out if expect == 0 else err

    return command


def requests(conversation: str) -> list[dict[str, Any]]:
    told = [
        {"role": "user", "name": "Ana", "id": f"m{number}", "content": f"I bought a {subject} and like it a lot"}
        for number, subject in enumerate(SUBJECTS)
    ]
    return [
        {"conversation": conversation, "messages": told, "question": f"What of the {subject}?", "evidence": [f"m{number}"]}
        for number, subject in enumerate(SUBJECTS)
    ]


@pytest.mark.requirement("SCORE-2")
def test_a_model_is_fitted_to_recorded_requests_and_used(run: Run) -> None:
    """One command; the file says where it comes from and opens with Germane.open."""
    shown = run("eval", "fit", "mine.jsonl", "--out", "model.toml", "--cache", "lists.npz", "--report", "fit.md")
    for word in ("r1000", "held out", "log loss", "came true", "Coefficients", "people_lexical"):
        assert word in shown
    model = tomllib.loads(Path("model.toml").read_text("utf-8"))
    assert model["provenance"]["data"] == ["mine: 12 questions"]
    assert model["provenance"]["embedder"] == "distilled"
    assert Path("lists.npz").exists()
    page = Path("fit.md").read_text("utf-8")
    assert all(word in page for word in ("| mine | before |", "`people_lexical`, held out", "| `intercept` |"))
    with Germane.open(":memory:", relevance="model.toml") as germane:
        germane.agent().remember("The kayak is blue")
        assert len(germane.agent().search("kayak")) == 1


def test_what_was_kept_is_read_the_second_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store is opened for it, and the figures are the same."""
    first = json.loads(run("eval", "fit", "mine.jsonl", "--cache", "lists.npz", "--no-keywords", "--json"))
    monkeypatch.setattr("germane_eval.fit.collect.wire", None)
    assert json.loads(run("eval", "fit", "mine.jsonl", "--cache", "lists.npz", "--no-keywords", "--json")) == first
    assert set(first["columns"]) == {"people"}
    assert first["columns"]["people"]["questions"] == 12


@pytest.mark.requirement("NEED-1")
def test_a_persons_requests_take_part(run: Run) -> None:
    """Those without evidence as requests without need; P(need) is told for each category, cross-validated by person."""
    written(Path("people.json"), [everyday("nuno"), everyday("rosa")])
    shown = run("eval", "fit", "people.json", "mine.jsonl", "--no-keywords", "--report", "fit.md")
    for word in ("need: percent of each group", "questions", "unknown, no need", "turns"):
        assert word in shown
    assert "update" not in shown
    page = Path("fit.md").read_text("utf-8")
    assert "| people | questions | before | 4 |" in page
    assert "| people | update | before | 2 |" in page
    told = json.loads(run("eval", "fit", "people.json", "--no-keywords", "--json"))["need"]["need"]["groups"]
    assert told[-1]["label"] == "turns"
    assert [(one["label"], one["requests"]) for one in told[:-1]] == [
        ("questions", 4),
        ("self", 2),
        ("update", 2),
        ("none, no need", 2),
        ("unknown, no need", 2),
    ]


def test_marks_on_an_assembly_move_the_model(run: Run) -> None:
    """Assemble, label, fit: a file of feedback of one's own."""
    for number, subject in enumerate(SUBJECTS):
        run("remember", f"Ana bought a {subject} and likes it a lot", "--key", f"k{number}", "--kind", "fact")
    run("assemble", "--query", "What did Ana buy, a kayak?", "--strategy", "compact", "--save-trace", "trace.json")
    told = json.loads(run("eval", "label", "trace.json", "--helpful", "m1", "--to", "marks.jsonl", "--json"))
    assert told["marked"] == 1
    assert told["shown"] > 1
    run("eval", "label", "trace.json", "--harmful", "m2", "--to", "marks.jsonl")
    shown = run("eval", "fit", "--feedback", "marks.jsonl", "--out", "model.toml")
    assert "people 2" in shown
    assert tomllib.loads(Path("model.toml").read_text("utf-8"))["provenance"]["feedback"]["assemblies"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit"], "--feedback"),
        (["fit", "mine.jsonl", "--loss", "hinge"], "hinge"),
        (["fit", "mine.jsonl", "--without", "charm"], "charm"),
        (["fit", "mine.jsonl", "--compare-to", "none.toml"], "none.toml"),
        (["fit", "none.jsonl"], "none.jsonl"),
        (["fit", "--feedback", "none.jsonl"], "none.jsonl"),
        (["label", "none.json", "--helpful", "a1"], "none.json"),
        (["label", "none.json"], "--helpful"),
    ],
)
def test_what_cannot_be_done_is_said_by_name(run: Run, arguments: list[str], said: str) -> None:
    """Exit code 2, one line."""
    assert said in run("eval", *arguments, expect=2)
