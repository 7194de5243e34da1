"""Document files: folders, links, broken and unreadable files, and what is too large."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.errors import MissingExtra
from germane.kinds.documents.handle import read_file, source_for
from germane.types import limits
from germane.types.limits import Limit
from germane_testing.builders import Hashed
from support.made_pdf import made_pdf


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        yield germane


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "files"
    (made / "inner").mkdir(parents=True)
    (made / "a.md").write_text("# A\n\nalpha")
    (made / "inner" / "b.txt").write_text("beta")
    return made


def small(limit: Limit, maximum: int) -> Limit:
    return Limit(maximum=maximum, unit=limit.unit, of=limit.of, why=limit.why, instead=limit.instead)


async def test_a_folder_is_ingested_without_what_nobody_means(opened: Germane, folder: Path) -> None:
    """Hidden files and folders, installed packages, links (also in circles), pipes. What can't be read is named."""
    for hidden in (".git", "node_modules", "__pycache__", ".hidden"):
        (folder / hidden).mkdir()
        (folder / hidden / "x.md").write_text("hidden")
    (folder / ".env").write_text("x=y")
    (folder / "loop").symlink_to(folder, target_is_directory=True)
    (folder / "link.md").symlink_to(folder / "a.md")
    os.mkfifo(folder / "pipe")
    (folder / "picture.png").write_bytes(b"\x89PNG\0\0")
    (folder / "empty.md").write_text("")
    agent = opened.agent("a")
    steps: list[tuple[int, int]] = []
    done = await agent.documents.ingest_folder(folder, progress=lambda done, total: steps.append((done, total)))
    assert [one.title for one in done.documents] == ["a.md", "inner/b.txt"]
    assert sorted((Path(one.path).name, one.reason.partition(": ")[2][:12]) for one in done.skipped) == [
        ("empty.md", "it is empty"),
        ("picture.png", "convert it t"),
    ]
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    assert [one.source for one in done.documents] == [str(folder / "a.md"), str(folder / "inner" / "b.txt")]
    again = await agent.documents.ingest_folder(folder)
    assert {one.outcome for one in again.documents} == {"unchanged"}


async def test_a_source_stands_before_the_paths_of_a_folder(opened: Germane, folder: Path) -> None:
    """So that the documents are found again wherever the folder lies."""
    done = await opened.agent("a").documents.ingest_folder(folder, source="wiki")
    assert [one.source for one in done.documents] == ["wiki/a.md", "wiki/inner/b.txt"]


async def test_a_file_and_a_link_to_it_are_one_document(opened: Germane, folder: Path) -> None:
    """The source is the real path."""
    (folder / "link.md").symlink_to(folder / "a.md")
    agent = opened.agent("a")
    await agent.documents.ingest(folder / "a.md", title="A")
    assert (await agent.documents.ingest(folder / "link.md", title="A")).outcome == "unchanged"


async def test_a_file_that_is_gone_leaves_its_document(opened: Germane, folder: Path) -> None:
    """Only `forget` removes it."""
    agent = opened.agent("a")
    await agent.documents.ingest_folder(folder)
    (folder / "a.md").unlink()
    await agent.documents.ingest_folder(folder)
    assert len((await agent.documents.list()).documents) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "no such file"),
        ("", "is a folder: use ingest_folder"),
        ("pipe", "is no regular file"),
        ("loop", "can't be read"),
    ],
)
async def test_what_is_no_file_is_said(opened: Germane, folder: Path, name: str, message: str) -> None:
    """With the path."""
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises(InvalidInput, match=message) as error:
        await opened.agent("a").documents.ingest(folder / name)
    assert str(error.value).startswith(str(folder))


@pytest.mark.parametrize("text", ["# Title\n\nA paragraph.", "word " * 2_000])
async def test_a_text_in_the_place_of_a_path_is_said(opened: Germane, text: str) -> None:
    """Without repeating it."""
    with pytest.raises(InvalidInput, match="give a text as text=, with its source=") as error:
        await opened.agent("a").documents.ingest(text)
    assert len(str(error.value)) < 200


async def test_a_folder_that_is_none_is_said(opened: Germane, folder: Path) -> None:
    """A file is ingested with `ingest`."""
    with pytest.raises(InvalidInput, match="is no folder: use ingest"):
        await opened.agent("a").documents.ingest_folder(folder / "a.md")


def test_a_file_that_may_not_be_read_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's own refusal, as a superuser may read everything."""

    def refuse(*given: Any) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("germane.kinds.documents.handle.os.open", refuse)
    with pytest.raises(InvalidInput, match="permission denied"):
        read_file(folder / "a.md")


def test_a_file_that_changes_while_it_is_read_is_read_again_and_then_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of one version and half of another isn't a document."""
    path, real, times = folder / "a.md", os.fstat, [0]

    def growing(descriptor: int) -> os.stat_result:
        times[0] += 1
        if times[0] % 2 == 0 and times[0] <= until:
            path.write_text("x" * times[0])
        return real(descriptor)

    monkeypatch.setattr("germane.kinds.documents.handle.os.fstat", growing)
    until = 2
    assert read_file(path) == b"xx"
    until, times[0] = 99, 0
    with pytest.raises(InvalidInput, match="changes while it is read"):
        read_file(path)


async def test_too_much_is_refused_with_what_to_do(opened: Germane, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By bytes before it is read, by characters and pages before it is divided, by the number of files."""
    agent = opened.agent("a")
    monkeypatch.setattr("germane.kinds.documents.handle.DOCUMENT_BYTES", small(limits.DOCUMENT_BYTES, 5))
    with pytest.raises(InvalidInput, match=r"has 10 bytes, 5 are allowed: split it"):
        await agent.documents.ingest(folder / "a.md")
    monkeypatch.undo()
    monkeypatch.setattr("germane.api.verbs.ingest.DOCUMENT_TEXT", small(limits.DOCUMENT_TEXT, 5))
    with pytest.raises(InvalidInput, match=r"has 10 characters, 5 are allowed: split it"):
        await agent.documents.ingest(folder / "a.md")
    monkeypatch.undo()
    monkeypatch.setattr("germane.kinds.documents.handle.DOCUMENT_FILES", small(limits.DOCUMENT_FILES, 1))
    with pytest.raises(InvalidInput, match="more than 1 files"):
        await agent.documents.ingest_folder(folder)
    monkeypatch.undo()
    pytest.importorskip("pypdf")
    monkeypatch.setattr("germane.api.verbs.ingest.DOCUMENT_PAGES", small(limits.DOCUMENT_PAGES, 1))
    (folder / "two.pdf").write_bytes(made_pdf(["one", "two"]))
    with pytest.raises(InvalidInput, match="has 2 pages, 1 are allowed"):
        await agent.documents.ingest(folder / "two.pdf")


async def test_a_pdf_of_two_thousand_pages_is_read_with_progress(opened: Germane, folder: Path) -> None:
    """Each passage knows its page."""
    pytest.importorskip("pypdf")
    agent, steps = opened.agent("a"), list[int]()
    (folder / "long.pdf").write_bytes(made_pdf([f"page {number} tells of topic{number}" for number in range(1, 2001)]))
    done = await agent.documents.ingest(folder / "long.pdf", progress=lambda done, _: steps.append(done))
    assert done.added == 2000
    assert steps == sorted(steps)
    assert steps[-1] == 100
    (hit, *_) = await agent.search("topic1234", 1)
    assert hit.candidate.title == "long.pdf › page 1234"


async def test_a_pdf_without_text_is_said_to_be_scanned(opened: Germane, folder: Path) -> None:
    """And a damaged or encrypted one is named with its reason; nothing is stored of it."""
    pytest.importorskip("pypdf")
    agent = opened.agent("a")
    (folder / "scan.pdf").write_bytes(made_pdf(["", ""]))
    with pytest.raises(InvalidInput, match=r"scan.pdf: has no text: it is probably scanned: make its text searchable"):
        await agent.documents.ingest(folder / "scan.pdf")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 garbage")
    with pytest.raises(InvalidInput, match=r"bad.pdf: isn't a PDF that can be read"):
        await agent.documents.ingest(folder / "bad.pdf")
    assert (await agent.documents.list()).documents == ()


async def test_a_document_stays_as_it_was_where_its_new_version_can_not_be_read(opened: Germane, folder: Path) -> None:
    """It stays complete, too."""
    agent = opened.agent("a")
    await agent.documents.ingest(folder / "a.md")
    (folder / "a.md").write_bytes(b"\0\0\0")
    with pytest.raises(InvalidInput, match="binary"):
        await agent.documents.ingest(folder / "a.md")
    kept = await agent.documents.get(str(folder / "a.md"))
    assert (kept.passages, kept.complete) == (1, True)


async def test_without_pypdf_a_pdf_names_the_extra(opened: Germane, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder, the PDF is skipped and the rest is ingested."""
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (folder / "x.pdf").write_bytes(made_pdf(["one"]))
    with pytest.raises(MissingExtra, match=r"pip install 'germane\[documents\]'"):
        await opened.agent("a").documents.ingest(folder / "x.pdf")
    done = await opened.agent("a").documents.ingest_folder(folder)
    assert len(done.documents) == 2
    assert "germane[documents]" in done.skipped[0].reason


async def test_a_pdf_that_takes_too_long_is_given_up(opened: Germane, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two pages."""
    pytest.importorskip("pypdf")
    monkeypatch.setattr("germane.api.verbs.ingest._MAX_READING_SECONDS", -1.0)
    (folder / "x.pdf").write_bytes(made_pdf(["one"]))
    with pytest.raises(InvalidInput, match="to read: split it"):
        await opened.agent("a").documents.ingest(folder / "x.pdf")


def test_every_path_becomes_a_source() -> None:
    """Long ones keep their end and differ by a hash; what can't be printed is replaced."""
    assert source_for("/a/b.md") == "/a/b.md"
    long = "/x" * 300
    assert len(source_for(long)) == 240
    assert source_for(f"{long}/a.md") != source_for(f"/y{long}/a.md")
    assert source_for(os.fsdecode(b"/a\xff\n.md")) == "/a\ufffd\ufffd.md"
