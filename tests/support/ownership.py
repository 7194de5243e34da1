"""Ownership: generates the section "What owns what" of ARCHITECTURE.md from the first sentence of each module.

`make docs` writes the section; `tests/rules/test_docs.py` fails where the file differs from it.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from support.source_tree import ROOT, SOURCE, Module, modules

__all__ = ["ARCHITECTURE", "first_sentence", "section", "updated"]

ARCHITECTURE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- made by `make docs` -->", "<!-- end -->"
_WIDTH = 128
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")


def first_sentence(module: Module) -> str:
    """The first sentence of the module's docstring, on one line; empty for a module without a docstring."""
    paragraph = (ast.get_docstring(module.tree) or "").split("\n\n")[0]
    return _SENTENCE.split(" ".join(paragraph.split()), maxsplit=1)[0]


def section() -> str:
    """The section as Markdown: first the modules of the root, then each package with its modules."""
    lines = ["### The root", ""]
    lines += _entries(module for module in modules() if module.path.parent == SOURCE)
    packages = [module for module in modules() if module.path.name == "__init__.py" and module.path.parent != SOURCE]
    for package in packages:
        folder = package.path.parent
        lines += ["", f"### `{folder.relative_to(SOURCE).as_posix()}/`", "", first_sentence(package), ""]
        lines += _entries(module for module in modules() if module.path.parent == folder and module is not package)
    return "\n".join(lines)


def updated(text: str) -> str:
    """`text` with a new section between its two marks. Raises `ValueError` where a mark is missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{ARCHITECTURE.name} lacks the mark {BEGIN if not begin else END}")
    return f"{before}{begin}\n\n{section()}\n\n{end}{after}"


def _entries(found: Iterator[Module]) -> Iterator[str]:
    for module in found:
        entry = f"- `{module.path.name}`: {first_sentence(module)}"
        yield from textwrap.wrap(entry, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    ARCHITECTURE.write_text(updated(ARCHITECTURE.read_text("utf-8")), "utf-8")
