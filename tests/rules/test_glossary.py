"""Glossary: each entry names a file or a class of the package, and all of them exist."""

from __future__ import annotations

import ast
import re

from support.source_tree import ROOT, SOURCE, modules

ENTRY = re.compile(r"^- \*\*(?P<word>[^*]+)\*\*: (?P<text>.+?)(?=^- |^#|\Z)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"`([\w/]+\.(?:py|toml))`")
CLASS = re.compile(r"`([A-Z]\w+)`")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8")


def entries() -> dict[str, str]:
    return {match["word"]: match["text"] for match in ENTRY.finditer(GLOSSARY)}


def test_each_entry_says_where_its_word_lives() -> None:
    """There are 25 to 45 entries: a longer glossary isn't read."""
    found = entries()
    assert 25 <= len(found) <= 45
    assert [word for word, text in found.items() if not FILE.search(text)] == []


def test_the_files_exist() -> None:
    """Paths are relative to the package."""
    assert (
        sorted(name for name in FILE.findall(GLOSSARY) if not any((folder / name).is_file() for folder in (SOURCE, ROOT))) == []
    )


def test_the_classes_exist() -> None:
    """By the name that a module of the package gives them."""
    classes = {node.name for module in modules() for node in module.nodes if isinstance(node, ast.ClassDef)}
    assert sorted(set(CLASS.findall(GLOSSARY)) - classes) == []
