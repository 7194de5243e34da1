"""Command docs: docs/reference/cli.md is what the commands' help says, and `docs/use/cli.md` shows only what there is."""

from __future__ import annotations

import re

from germane.cli.app import COMMANDS
from support.command_reference import REFERENCE, reference
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "cli.md").read_text("utf-8")


def test_the_reference_is_what_the_commands_say() -> None:
    """Made anew, it is the same."""
    assert REFERENCE.read_text("utf-8") == reference(), "run: make docs"


def test_the_page_names_every_command_and_no_option_that_there_is_not() -> None:
    """By the command table and the reference."""
    assert [name for name in COMMANDS if not re.search(rf"(`|germane ){name}\b", PAGE)] == []
    known = set(re.findall(r"--[a-z-]+", reference()))
    shown = set(re.findall(r"(?<![\w|])--[a-z-]+", PAGE))
    assert shown <= known
