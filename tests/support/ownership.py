"""Ownership: makes `docs/modules.md` from the first sentence of each module, and `schema.sql` from the migrations.

`make docs` writes both; `tests/rules/test_docs.py` fails where a file differs.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

import apsw

from support.source_tree import ROOT, SOURCE, Module, modules

__all__ = ["MODULES", "SCHEMA", "first_sentence", "migrated", "module_page", "schema"]

MODULES = ROOT / "docs" / "modules.md"
SCHEMA = SOURCE / "stores" / "sqlite" / "schema.sql"
_WIDTH = 128
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
_HEAD = """# Modules

What each module owns: the first sentence of its docstring. `make docs` writes this page;
[ARCHITECTURE.md](../ARCHITECTURE.md) says how the packages fit together.

## The root
"""
_SCHEMA_HEAD = """-- The tables as they are today: what the scripts in migrations/ make of an empty file, with the indexes.
-- `make docs` writes this file, for people to read. A store is made by the scripts.
"""


def first_sentence(module: Module) -> str:
    """The first sentence of the module's docstring, on one line; empty for a module without a docstring."""
    paragraph = (ast.get_docstring(module.tree) or "").split("\n\n")[0]
    return _SENTENCE.split(" ".join(paragraph.split()), maxsplit=1)[0]


def module_page() -> str:
    """The page as Markdown: first the modules of the root, then each package with its modules."""
    lines = [_HEAD, *_entries(module for module in modules() if module.path.parent == SOURCE)]
    packages = [module for module in modules() if module.path.name == "__init__.py" and module.path.parent != SOURCE]
    for package in packages:
        folder = package.path.parent
        lines += ["", f"## `{folder.relative_to(SOURCE).as_posix()}/`", "", first_sentence(package), ""]
        lines += _entries(module for module in modules() if module.path.parent == folder and module is not package)
    return "\n".join(lines) + "\n"


def schema() -> str:
    """The tables and indexes that all migrations together make."""
    rows = migrated().execute(
        "SELECT tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name"
    )
    tables: dict[str, list[str]] = {}
    for table, sql in rows:
        tables.setdefault(table, []).append(f"{sql};")
    return _SCHEMA_HEAD + "".join(f"\n{chr(10).join(statements)}\n" for statements in tables.values())


def migrated() -> apsw.Connection:
    """A database in memory that all migrations have made."""
    connection = apsw.Connection(":memory:")
    for script in sorted((SCHEMA.parent / "migrations").glob("*.sql")):
        connection.execute(script.read_text("utf-8"))
    return connection


def _entries(found: Iterator[Module]) -> Iterator[str]:
    for module in found:
        entry = f"- `{module.path.name}`: {first_sentence(module)}"
        yield from textwrap.wrap(entry, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    MODULES.write_text(module_page(), "utf-8")
    SCHEMA.write_text(schema(), "utf-8")
