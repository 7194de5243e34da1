"""`germane import --as blocks` and `germane export --layout`: folders of memory files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from germane.cli import main


class Run:
    """Runs commands in a folder of the test."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, expect: int = 0) -> str:
        code = main(list(arguments))
        out, err = self._capsys.readouterr()
        assert code == expect, err
        return " ".join((out + err).split())


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    Path("memories/system").mkdir(parents=True)
    Path("memories/system/user.md").write_text("Likes tea\n")
    Path("memories/notes.md").write_text("one\n")
    Path("memories/bad%2f.md").write_text("x")
    return Run(capsys)


@pytest.mark.requirement("BLK-8")
def test_a_folder_comes_in_and_goes_out(run: Run) -> None:
    """Again changes nothing; a file that can't be used is named; the other layout has front matter."""
    said = run("import", "memories", "--as", "blocks", "--user", "ada")
    assert "memories (anthropic): 2 new blocks, 1 files that can't be used" in said
    assert "skipped bad%2f.md" in said
    again = json.loads(run("import", "memories", "--as", "blocks", "--user", "ada", "--json").partition(" skipped")[0])
    assert again["folders"][0]["already_there"] == ["notes.md", "system/user.md"]
    assert run("export", "out", "--layout", "anthropic", "--user", "ada") == "exported 2 files to out"
    assert Path("out/system/user.md").read_bytes() == b"Likes tea\n"
    run("export", "letta", "--layout", "letta", "--user", "ada")
    assert Path("letta/system/user.md.md").read_text().startswith("---\ndescription")
    assert "2 new blocks" in run("import", "letta", "--as", "blocks", "--layout", "letta", "--user", "ben")


@pytest.mark.requirement("BLK-8")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("import", "memories", "--layout", "letta"), "add --as blocks"),
        (("import", "memories", "--as", "files"), "--as must be one of memory, directive, blocks"),
        (
            ("import", "memories", "--as", "blocks", "--layout", "acme"),
            "layout 'acme' is unknown: give one of anthropic, letta",
        ),
        (("import", "nowhere", "--as", "blocks"), "nowhere is no folder"),
        (("export", "--layout", "letta"), "give a new folder"),
        (("export", "out", "--layout", "letta", "--everything"), "--all options"),
    ],
)
def test_what_doesnt_fit_is_refused_by_its_option(run: Run, arguments: tuple[str, ...], named: str) -> None:
    """The message says what to give instead."""
    assert named in run(*arguments, expect=2)
