"""Text of the project: no file contains a path of one machine, a registry's address, or a note of unfinished work."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.source_tree import ROOT, project_files

HOMES = ["work", "root", "home", "Users", "tmp"]
FINE_IN_TESTS = ["home", "Users", "tmp"]
"""Folders that may occur in the contents of tests."""

REGISTRIES = ["pypi" + ".org", "python" + "hosted", "npm" + "js", "crates" + ".io", "arti" + "factory", "index" + "-url"]
LEFT_FOR_LATER = ["TO" + "DO", "FIX" + "ME", "X" * 3]


def paths(*homes: str) -> re.Pattern[str]:
    """Matches an absolute path into one of these folders, but neither the path of a URL nor a folder of that name in
    another."""
    return re.compile(rf"(?<![\w.\-~)}}\]])/(?:{'|'.join(homes)})/")


RULES = {
    "a path of one machine": paths(*HOMES),
    "a registry's address": re.compile("|".join(map(re.escape, REGISTRIES)), re.IGNORECASE),
    "something left for later": re.compile(rf"\b(?:{'|'.join(LEFT_FOR_LATER)})\b"),
}
IN_TESTS = {**RULES, "a path of one machine": paths(*(home for home in HOMES if home not in FINE_IN_TESTS))}


def texts() -> Iterator[tuple[Path, str]]:
    for path in project_files():
        content = path.read_bytes()
        if b"\0" not in content:
            yield path.relative_to(ROOT), content.decode("utf-8", "replace")


@pytest.mark.parametrize("rule", RULES)
def test_no_file_holds(rule: str) -> None:
    """A clone contains nothing that only works on the authors' machines."""
    found = []
    for path, text in texts():
        pattern = (IN_TESTS if path.parts[0] == "tests" else RULES)[rule]
        found += [f"{path}:{text.count(chr(10), 0, match.start()) + 1} {match[0]}" for match in pattern.finditer(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("a path of one machine", 'open("/' + 'root/x")'),
        ("a path of one machine", "see /" + "work/shared"),
        ("a registry's address", "https://" + REGISTRIES[0] + "/simple"),
        ("something left for later", "# " + LEFT_FOR_LATER[0] + ": more"),
    ],
)
def test_the_rule_finds(rule: str, text: str) -> None:
    """Each pattern finds its offence."""
    assert RULES[rule].search(text)


@pytest.mark.parametrize("text", ["https://example.org/home/page", "src/tmp/x", "homework/", "method", "~/" + "work/x"])
def test_what_only_looks_like_it_passes(text: str) -> None:
    """No pattern matches these texts."""
    assert not any(pattern.search(text) for pattern in RULES.values())
