"""Secrets in the names of an imported file: none is stored, and nothing is lost for it."""

from __future__ import annotations

import pytest

from germane import Germane
from germane.cli.imports import MemoryRow, read
from germane.cli.imports.store_rows import ImportTally, store_rows
from support.product_exports import named_files

pytestmark = pytest.mark.requirement("MEM-7")

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
FILES = named_files("They like tea.", TOKEN)


async def imported(germane: Germane, format: str, user: str) -> ImportTally:
    name, content = FILES[format]
    agent, tally = germane.agent("a", user=user), ImportTally()
    _, rows = read(content.encode(), "s", name=name)
    await store_rows(list(rows), agent, germane.agent("a"), lambda _: agent, tally, lambda _: None)
    return tally


@pytest.mark.parametrize("format", FILES)
async def test_no_name_of_a_file_brings_a_secret(germane: Germane, format: str) -> None:
    """Persons, sessions, ids, titles, tools, channels, keys of metadata: of each format that an import takes."""
    tally = await imported(germane, format, format)
    assert not tally.empty
    assert tally.secrets["GitHub token"]
    assert not tally.broken
    assert TOKEN not in "".join([repr(line) async for line in germane.agent("a", user=format).export()])


@pytest.mark.parametrize("format", ["messages", "chatgpt", "notes"])
async def test_importing_again_adds_nothing(germane: Germane, format: str) -> None:
    """The same name stands in the same place whenever the file is read."""
    await imported(germane, format, f"again {format}")
    again = await imported(germane, format, f"again {format}")
    assert again.messages == 0
    assert again.known


async def test_a_user_whose_name_is_a_secret_is_refused(germane: Germane) -> None:
    """A user is found again by the name: none is made up."""
    tally, agent = ImportTally(), germane.agent("a", user="u")
    await store_rows([MemoryRow({"kind": "note", "body": "tea"}, TOKEN)], agent, agent, germane.agent, tally, lambda _: None)
    assert tally.memories == 0
    assert len(tally.broken) == 1
    assert TOKEN not in tally.broken[0]
