"""The commands about documents: ingest, documents, forget --document."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("GRAPH-1")

Run = Callable[..., str]
GUIDE = "# Oven guide\n\n## Heating\n\nThe oven heats to 250 degrees.\n\n## Cleaning\n\nUse vinegar on the glass.\n"


@pytest.fixture
def run(run: Run, tmp_path: Path) -> Run:
    """As `run`, in a folder with documents."""
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "guide.md").write_text(GUIDE)
    (tmp_path / "papers" / "notes.txt").write_text("The lamp is a G9.")
    return run


def parsed(text: str) -> Any:
    return json.loads(text)


def test_a_folder_goes_in_and_is_found(run: Run) -> None:
    """The second time nothing is new; the search names the document."""
    assert run("ingest", "papers") == "guide.md: 2 passages\nnotes.txt: 1 passage\n2 documents, 3 new passages\n"
    assert run("ingest", "papers") == "2 documents unchanged\n"
    (Path("papers") / "guide.md").write_text(GUIDE.replace("vinegar", "soap"))
    assert run("ingest", "papers/guide.md") == "guide.md: 1 new, 1 kept, 1 gone\n"
    assert "guide.md › Oven guide › Heating" in run("search", "how hot is the oven")
    assert run("stats").split("documents")[1].split()[:3] == ["2", "passages", "3"]


def test_documents_are_listed_and_printed(run: Run) -> None:
    """At every width; a path stands for the source."""
    run("ingest", "papers")
    for columns in (40, 100, 200):
        listed = run("documents", columns=columns)
        assert "guide.md" in listed
        assert "all users" in " ".join(listed.split())
        assert max(map(len, listed.splitlines())) <= max(columns, 120)
        printed = run("documents", "papers/guide.md", columns=columns)
        assert "text/markdown" in printed
        assert "vinegar" in printed
    shape = parsed(run("documents", "papers/guide.md", "--json"))
    assert [passage["provenance"]["metadata"]["path"][-1] for passage in shape["passages"]] == ["Cleaning", "Heating"]
    first = parsed(run("documents", "--limit", "1", "--json"))
    second = parsed(run("documents", "--limit", "1", "--cursor", first["cursor"], "--json"))
    assert {one["documents"][0]["title"] for one in (first, second)} == {"guide.md", "notes.txt"}
    assert "no document" in run("documents", "nothing.md", expect=1)


def test_a_document_is_named_by_its_title(run: Run, tmp_path: Path) -> None:
    """Where only one has it; else the error names the sources."""
    run("ingest", "papers")
    assert "vinegar" in run("documents", "guide.md")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "notes.txt").write_text("Another lamp.")
    run("ingest", "more")
    said = run("documents", "notes.txt", expect=2)
    assert "2 documents have the title 'notes.txt'" in said
    assert "papers/notes.txt" in said
    assert "forgot 2 messages" in run("forget", "--document", "guide.md", "--yes")
    assert "no document" in run("documents", "guide.md", expect=1)


def test_json_says_what_was_done_and_what_was_skipped(run: Run) -> None:
    """With the reasons, and no output beside it."""
    (Path("papers") / "picture.png").write_bytes(b"\0\1\2")
    shape = parsed(run("ingest", "papers", "--json"))
    assert [(one["title"], one["outcome"], one["added"]) for one in shape["documents"]] == [
        ("guide.md", "added", 2),
        ("notes.txt", "added", 1),
    ]
    assert shape["skipped"][0]["path"].endswith("picture.png")
    assert "binary file" in shape["skipped"][0]["reason"]


def test_a_dry_run_and_standard_input(run: Run) -> None:
    """A text needs a source, by which it is found again."""
    assert "nothing was stored" in run("ingest", "papers", "--dry-run")
    assert "no documents here" in run("documents")
    assert "needs --source" in run("ingest", "-", expect=2, stdin="text")
    assert run("ingest", "-", "--source", "memo", stdin="a memo") == "memo: 1 passage\n"
    assert "memo" in run("documents", "memo")


def test_documents_of_one_user_and_of_all(run: Run) -> None:
    """`--agent-wide` stores for all users; `forget --document` removes what is the scope's own."""
    run("ingest", "papers/guide.md", "--user", "ada", "--agent-wide")
    run("ingest", "papers/notes.txt", "--user", "ada")
    assert "notes.txt" not in run("documents", "--user", "bob")
    assert "guide.md" in run("documents", "--user", "bob")
    assert "belongs to all users" in run("forget", "--document", "papers/guide.md", "--user", "bob", "--yes", expect=2)
    assert run("forget", "--document", "papers/guide.md", "--yes") == "forgot 2 messages\n"
    assert "no document" in run("forget", "--document", "papers/notes.txt", "--user", "bob", "--yes", expect=1)
    assert "exclude each other" in run("forget", "--document", "x", "--session", "y", "--yes", expect=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ingest", "nothing"), "no such file"),
        (("ingest", "papers/guide.md", "papers/notes.txt", "--title", "x"), "are for one path"),
        (("ingest", "papers/guide.md", "--media-type", "image/png"), "is none of text/markdown"),
        (("ingest", "papers/guide.md", "--sensitivity", "top"), "must be one of public"),
    ],
)
def test_wrong_usage_is_said_in_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    """With exit code 2."""
    told = run(*arguments, expect=2)
    assert message in told
    assert len(told.strip().splitlines()[-1:]) == 1


def test_a_folder_without_anything_readable_fails(run: Run) -> None:
    """With the reasons."""
    Path("empty").mkdir()
    (Path("empty") / "x.bin").write_bytes(b"\0")
    told = run("ingest", "empty", expect=2)
    assert "skipped empty/x.bin: is a binary file" in told
    assert "nothing in it could be ingested" in told
