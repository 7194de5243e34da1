"""Command reference: makes docs/reference/cli.md, every command with its arguments and options, from the commands' own help.

`make docs` writes the page; `tests/rules/test_cli_docs.py` fails where the file differs from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from germane.cli.app import COMMANDS, CommandTable, app, with_readable_values
from support.source_tree import ROOT

__all__ = ["REFERENCE", "reference"]

REFERENCE = ROOT / "docs" / "reference" / "cli.md"
_HEAD = """<!-- made by `make docs` -->

# Commands and options

Every command with its arguments and options, made from the help of the commands (`germane COMMAND --help`). The page
[cli.md](../use/cli.md) shows how to use them.

## For every command
"""


def reference() -> str:
    """The page as Markdown."""
    whole = with_readable_values(typer.main.get_group(app))
    lines = [_HEAD, *_table(whole, _context(whole, "germane"))]
    table = CommandTable()
    for name, (_, line) in COMMANDS.items():
        lines += ["", f"## {name}", "", *_command(table[name], name, line)]
    return "\n".join(lines) + "\n"


def _command(command: Any, name: str, line: str = "") -> Iterator[str]:
    """What a command does and takes, and then the same of the commands that it has."""
    context = _context(command, name)
    usage = " ".join(["germane", name, *command.collect_usage_pieces(context)])
    yield from (f"`{usage}`", "")
    said = [" ".join(part.split()) for part in inspect.cleandoc(command.help or "").split("\n\n") if "\b" not in part]
    yield _safe(" ".join(said) or line)
    if rows := list(_table(command, context)):
        yield from ("", *rows)
    for inner in getattr(command, "commands", {}).values():
        yield from ("", *_command(inner, f"{name} {inner.name}"))


def _table(command: Any, context: Any) -> Iterator[str]:
    parameters = sorted(command.params, key=lambda parameter: parameter.param_type_name != "argument")
    rows = [record for parameter in parameters if (record := parameter.get_help_record(context)) is not None]
    told = [(names, _safe(text)) for names, text in rows if names != "-h, --help"]
    if told:
        yield from ("| | |", "|---|---|")
        yield from (f"| `{names.replace('|', chr(92) + '|')}` | {text} |" for names, text in told)


def _context(command: Any, name: str) -> Any:
    return command.context_class(command, info_name=name, terminal_width=10_000)


def _safe(text: str) -> str:
    """The text for Markdown: what looks like a tag or divides a row is escaped."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")


if __name__ == "__main__":
    REFERENCE.parent.mkdir(exist_ok=True)
    REFERENCE.write_text(reference(), "utf-8")
