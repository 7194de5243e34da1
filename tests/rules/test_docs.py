"""Docs: code blocks run, indexes are complete, links lead to existing files and headings."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.code_blocks import NO_TEST, Block, blocks
from support.code_blocks import run as exec_block
from support.ownership import MODULES, SCHEMA, module_page, schema
from support.source_tree import ROOT, project_files

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s#]+)(?:#[^)]*)?\)")
ANCHOR = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s#:]*)#(?P<anchor>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
PAGE = re.compile(r"(?<![\w./-])docs/(?:[\w-]+/)*[\w-]+\.(?:md|svg)\b")
NAMED = re.compile(r"`(?P<path>(?:[\w.-]+/)*[\w-]+\.(?:py|toml|sql|md)|(?:[\w.-]+/)+)`")
TARGET = re.compile(r"\bmake ([a-z]+)")


def text_of(name: str) -> str:
    path = ROOT / name
    assert path.is_file(), f"{name} is missing"
    return path.read_text("utf-8")


def documents() -> Iterator[Path]:
    yield from (path for path in project_files() if path.suffix == ".md")


def anchors(text: str) -> set[str]:
    """Lower case, without punctuation, hyphens for spaces."""
    headings = HEADING.findall(FENCED.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_readmes_code_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks run in order in an empty folder and share their names."""
    readme = blocks(text_of("README.md"))
    assert readme, "README.md shows no code that runs"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in readme:
        exec_block(block, "README.md", names)


@pytest.mark.requirement("PERSON-7")
def test_what_the_readmes_code_stored_is_found_by_the_command(run: Callable[..., str]) -> None:
    """By the hint of a command without a scope, by the name and as `me`."""
    for block in blocks(text_of("README.md")):
        exec_block(block, "README.md", {"__name__": "__main__"})
    hint = run("list").splitlines()[-1].split()
    assert hint == ["germane", "list", "--org", "acme", "--agent", "support", "--user", "caroline"]
    assert "Prefers e-mail to phone calls" in run(*hint[1:])
    told = [run("about", *name, *hint[2:]) for name in ((), ("me",), ("Caroline",))]
    assert "Prefers e-mail to phone calls" in told[0]
    assert "Parcel 4711 came broken" in told[0]
    assert told[0] == told[1] == told[2]


def test_the_code_of_the_page_on_security_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored, and the receipt, are as the page says."""
    both = blocks(text_of("docs/operate/security.md"))
    assert len(both) == 2
    monkeypatch.chdir(tmp_path)
    for block in both:
        exec_block(block, "security.md", {"__name__": "security"})


def test_the_readme_names_each_extra() -> None:
    """Those of `pyproject.toml`, but for that of this repository's own tools."""
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    assert [name for name in extras if name != "dev" and not re.search(rf"[`\[]{name}[`\]]", text_of("README.md"))] == []


def pages_with_code() -> list[str]:
    """The documents with code: the README, and the pages that users and operators read."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "use").glob("*.md")]
    pages += [*(ROOT / "docs" / "operate").glob("*.md"), ROOT / "packages" / "client" / "README.md"]
    return [page.relative_to(ROOT).as_posix() for page in sorted(pages) if "```python" in page.read_text("utf-8")]


@pytest.mark.parametrize("page", pages_with_code())
def test_each_fragment_compiles_and_each_page_that_can_run_has_a_test(page: str) -> None:
    """What needs a service or a provider is marked, and must be Python all the same: alone, or as a part of the page's
    program."""
    text = text_of(page)
    codes = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    programs = ["\n".join(codes)] if any(code.startswith(" ") for code in codes) else codes
    for code in programs:
        compile(code, f"<{page}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if blocks(text):
        name = page.rpartition("/")[2]
        tests = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
        assert any(f'"{name}"' in test or f"/{name}" in test for test in tests), f"no test runs the code of {page}"


def test_the_readmes_commands_are_targets_of_the_makefile() -> None:
    """Each `make` command that the README shows exists."""
    targets = set(re.findall(r"^([a-z]+):", text_of("Makefile"), re.MULTILINE))
    shown = [line for code in re.findall(r"```\w*\n(.*?)```", text_of("README.md"), re.DOTALL) for line in code.splitlines()]
    used = {name for line in shown for name in TARGET.findall(line)}
    assert {"demo", "test"} <= used <= targets


def test_every_decision_is_in_the_index() -> None:
    """`docs/adr/README.md` lists each ADR."""
    folder = ROOT / "docs" / "adr"
    index = text_of("docs/adr/README.md")
    records = {path.name for path in folder.glob("*.md")} - {"README.md"}
    assert records
    listed = {match["target"].removeprefix("./") for match in LINK.finditer(index)}
    assert not records - listed, "\n".join(sorted(records - listed))


def test_the_list_of_modules_says_what_each_owns() -> None:
    """It is made from the first sentence of each module."""
    assert MODULES.read_text("utf-8") == module_page(), "run: make docs"


def test_the_schema_shows_the_tables_of_today() -> None:
    """It is made by running the migrations."""
    assert SCHEMA.read_text("utf-8") == schema(), "run: make docs"


def test_the_architecture_is_read_by_people() -> None:
    """It has at most 150 lines."""
    assert len(text_of("ARCHITECTURE.md").splitlines()) <= 150


def test_the_architecture_names_nothing_that_does_not_exist() -> None:
    """Each path exists in the project, from any folder down; a bare name is that of some file."""
    files = {path.relative_to(ROOT).as_posix() for path in project_files()}
    endings = {"/".join(parts[start:]) for name in files if (parts := name.split("/")) for start in range(len(parts))}
    folders = {"/".join(name.split("/")[:end]) + "/" for name in endings for end in range(1, name.count("/") + 1)}
    named = {match["path"].removeprefix("./") for match in NAMED.finditer(text_of("ARCHITECTURE.md"))}
    strangers = sorted(named - endings - folders)
    assert not strangers, "\n".join(strangers)


def test_links_between_documents_lead_somewhere() -> None:
    """Links to other sites aren't checked: tests need no network."""
    broken = []
    for path in documents():
        for match in LINK.finditer(path.read_text("utf-8")):
            target = match["target"]
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken, "\n".join(broken)


def test_links_to_a_heading_lead_to_one() -> None:
    """The anchor is made from the heading as GitHub makes it."""
    broken = []
    for path in documents():
        for match in ANCHOR.finditer(path.read_text("utf-8")):
            page = path.parent / match["target"] if match["target"] else path
            if page.suffix == ".md" and match["anchor"] not in anchors(page.read_text("utf-8")):
                broken.append(f"{path.relative_to(ROOT)}: {match['target']}#{match['anchor']}")
    assert not broken, "\n".join(broken)


def test_every_page_that_a_file_names_exists() -> None:
    """Docstrings, messages and tests name pages by their path. The change log is left out: it tells of earlier versions."""
    strangers = []
    for path in project_files():
        content = path.read_bytes()
        if path.name != "CHANGELOG.md" and b"\0" not in content:
            named = set(PAGE.findall(content.decode("utf-8", "replace")))
            strangers += [f"{path.relative_to(ROOT)}: {name}" for name in sorted(named) if not (ROOT / name).is_file()]
    assert not strangers, "\n".join(strangers)


def test_every_page_is_in_the_index() -> None:
    """`docs/README.md` has one line for each page."""
    folder = ROOT / "docs"
    listed = {(folder / match["target"]).resolve() for match in LINK.finditer(text_of("docs/README.md"))}
    pages = {path for path in folder.rglob("*.md") if path.parent.name != "adr" and path != folder / "README.md"}
    assert not pages - listed, "\n".join(sorted(str(path.relative_to(ROOT)) for path in pages - listed))


def test_a_block_awaits_at_the_top_or_starts_its_own_loop_and_keeps_its_names() -> None:
    """These are the three forms of code in a document."""
    awaiting = "```python\nfrom asyncio import sleep\nawait sleep(x - 1)\n```"
    text = f"```python\nx = 1\n```\n\n{NO_TEST}\n```python\nraise\n```\n{awaiting}"
    names: dict[str, Any] = {}
    assert [block.line for block in blocks(text)] == [2, 10]
    for block in [*blocks(text), Block(1, "async def main():\n    global x\n    x += 1\nimport asyncio\nasyncio.run(main())")]:
        exec_block(block, "text", names)
    assert names["x"] == 2
