"""Light start: what a process loads that imports germane, opens a store or runs a command, and what it does without."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from germane import Germane
from germane.cli import main
from germane.cli.app import COMMANDS

ROOMS = [
    *(
        "api.verbs.about",
        "api.builder.building",
        "api.verbs.consolidate",
        "kinds.tasks.handle",
        "api.verbs.transfer",
        "api.verbs.transfer",
        "api.verbs.why",
    ),
    *(
        "kinds.blocks.handle",
        "kinds.documents.handle",
        "kinds.graph.handle",
        "kinds.conversations.handle",
        "kinds.tasks.handle",
    ),
    *(
        "api.workers.extraction",
        "api.workers.summaries",
        "kinds.blocks.document",
        "compaction.conversation",
        "compaction.reading.outline_line",
    ),
    *(
        "kinds.documents.plans",
        "models.embedders.openai",
        "models.embedders.static",
        "extraction.entities.days",
        "extraction.entities.entities",
    ),
    *("grpc", "integrations", "service", "stores.sqlite.backup", "transfer"),
]
"""Rooms of germane that few programs enter."""
PACKAGES = [
    "germane_eval",
    "germane_testing",
    "huggingface_hub",
    "loro",
    "onnxruntime",
    "pydantic",
    "quicktok",
    "requests",
    "rich",
    "tokenizers",
    "typer",
    "wordllama",
    "yaml",
]
"""The distributions beside germane, and packages of the extras and of what they bring along."""

TWIN = "from germane.sync import Germane"
REMOTE = "from germane.api.remote.http import RemoteGermane; RemoteGermane('http://localhost:1')"
OPENED = """
import asyncio
from germane import Germane

async def main():
    async with Germane.open(":memory:", warm=True) as germane:
        agent = germane.agent()
        await agent.remember("Ana lives in Lisbon")
        await agent.search("Where does Ana live?")
        await agent.assemble([{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None)

asyncio.run(main())
"""
COMMAND = "from germane.cli import main; main(['--db', sys.argv[1], 'stats'])"


def loaded(program: str, *arguments: str) -> list[str]:
    """The names of the modules that a new process has loaded after `program`."""
    script = f"import sys\n{program}\nprint('\\n', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def among(modules: list[str], rooms: list[str], packages: list[str]) -> list[str]:
    """Those of the rooms and packages that are loaded, as a whole or in part."""
    names = [*(f"germane.{room}" for room in rooms), *packages]
    return [name for name in names if any(f"{module}.".startswith(f"{name}.") for module in modules)]


def test_each_room_is_there() -> None:
    """A name that nothing has is never among what is loaded."""
    assert [room for room in ROOMS if find_spec(f"germane.{room}") is None] == []


@pytest.mark.requirement("INSTALL-1", "SEARCH-6")
@pytest.mark.parametrize("program", [TWIN, OPENED])
def test_what_few_programs_use_is_not_loaded_before(program: str) -> None:
    """Neither an import nor a first memory, search and assembly loads it: each process would pay for it."""
    assert among(loaded(program), ROOMS, PACKAGES) == []


@pytest.mark.requirement("HTTP-1")
def test_a_client_over_http_loads_no_engine() -> None:
    """Neither a store, nor the search, nor gRPC."""
    others = ["api.agent", "api.germane", "engine", "search", "stores", "stages"]
    assert among(loaded(REMOTE), [*ROOMS, *others], [*PACKAGES, "numpy", "apsw", "grpc", "google.protobuf"]) == []


async def test_a_store_command_loads_neither_other_commands_nor_a_vocabulary(tmp_path: Path) -> None:
    """`germane stats` on a store that is there; typer and rich are what the command line is made with."""
    async with Germane.open(tmp_path / "a.db", warm=False):
        pass
    modules = loaded(COMMAND, str(tmp_path / "a.db"))
    assert [name for name in modules if name.startswith("germane.cli.commands.")] == ["germane.cli.commands.store"]
    assert among(modules, ROOMS, ["rich.progress", "toktok"]) == []


async def test_a_room_of_an_agent_stays_the_same() -> None:
    """It is made when it is asked for, once."""
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent()
        assert agent.blocks is agent.blocks


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_shows_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its module and its function exist."""
    assert main([name, "--help"]) == 0
    assert f"germane {name}" in capsys.readouterr().out
