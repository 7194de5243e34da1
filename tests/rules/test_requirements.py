"""Requirements: each id in docs/promises.md is named by a test or, where it is about time, by a benchmark."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from support.source_tree import ROOT, SOURCE

FORM = re.compile(r"[A-Z]+-\d+[a-z]?")
PROMISED = re.compile(rf"^- \*\*({FORM.pattern})\*\*", re.MULTILINE)
PROOF = re.compile(r"`((?:tests|testing|bench)/[\w/]*(?:\.py)?)`")
LISTED = re.compile(rf"Requirements?: ({FORM.pattern}(?:,\s+{FORM.pattern})*)")


def trees(folder: Path) -> Iterator[ast.Module]:
    for path in sorted(folder.rglob("*.py")):
        yield ast.parse(path.read_text("utf-8"), str(path))


def marked(tree: ast.Module) -> Iterator[str]:
    """Yields the arguments of every `pytest.mark.requirement(…)`."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requirement"
            and ast.unparse(node.func) == "pytest.mark.requirement"
        ):
            yield from (str(argument.value) for argument in node.args if isinstance(argument, ast.Constant))


def listed(tree: ast.Module) -> Iterator[str]:
    """Yields the ids that a benchmark's docstring lists after `Requirements:`."""
    for match in LISTED.finditer(ast.get_docstring(tree) or ""):
        yield from FORM.findall(match[1])


@cache
def proven() -> set[str]:
    suites = [ROOT / "tests", ROOT / "src" / "germane" / "testing"]
    tests = {id for folder in suites for tree in trees(folder) for id in marked(tree)}
    return tests | {id for tree in trees(ROOT / "bench") for id in listed(tree)}


def test_every_requirement_is_named_by_a_test_or_a_benchmark() -> None:
    """The ids are read from the page."""
    promised = PROMISED.findall((ROOT / "docs" / "promises.md").read_text("utf-8"))
    assert len(promised) > 50
    named = proven()
    missing = [id for id in promised if id not in named]
    assert not missing, " ".join(missing)


def test_every_proof_that_the_page_names_exists() -> None:
    """`testing/` is a part of the package; files and folders alike."""
    proofs = PROOF.findall((ROOT / "docs" / "promises.md").read_text("utf-8"))
    assert len(proofs) > 50
    assert sorted({name for name in proofs if not any((root / name).exists() for root in (ROOT, SOURCE))}) == []


def test_every_id_named_has_the_form_of_one() -> None:
    """A misspelt id would prove nothing."""
    assert sorted(id for id in proven() if not FORM.fullmatch(id)) == []


def test_ids_are_read_from_marks_and_docstrings() -> None:
    """Both readers, on a small example."""
    assert list(marked(ast.parse("@pytest.mark.requirement('A-1', 'B-2a')\ndef test_x(): ..."))) == ["A-1", "B-2a"]
    assert list(listed(ast.parse('"""Speed.\n\nRequirements: A-1,\nB-2a. More: C-3."""'))) == ["A-1", "B-2a"]
