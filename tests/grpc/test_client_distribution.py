"""The distribution `germane-client`: built from germane's sources, installed without germane, and used."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from support.loopback import enriched, serving

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "packages" / "client"
ALONE = """
import asyncio, sys
from importlib.abc import MetaPathFinder

class Refused(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"germane", "numpy", "apsw", "loro", "typer"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refused())
sys.path.insert(0, sys.argv[1])
import germane_client
from germane_client import Client, blocking
from germane_client.errors import InvalidInput

asked = [{"role": "user", "content": "Where is the key?"}]

async def main():
    async with Client(sys.argv[2], org="acme", agent="house", limit=10.0) as client:
        return await client.assemble(asked, model="gpt-4o")

with blocking.Client(sys.argv[2], org="acme", agent="house", limit=10.0) as client:
    answers = [asyncio.run(main()), client.assemble(asked, model="gpt-4o")]
try:
    Client("")
except InvalidInput:
    print([answer.metadata.memories_injected for answer in answers], [len(answer.messages) for answer in answers])
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.requirement("OPS-3")
def test_the_installed_client_works_without_germane(wheel: Path, tmp_path: Path) -> None:
    """Both clients answer; nothing of `germane`, numpy or a store can be imported in the process."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(tmp_path), str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    assert {place.name.partition("-")[0] for place in tmp_path.iterdir()} == {"germane_client"}
    with serving(enriched) as address:
        ran = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path), address], check=False, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[1, 1] [2, 2]", "")


@pytest.mark.requirement("OPS-3")
def test_the_wheel_is_small_and_needs_only_grpc_and_protobuf(wheel: Path) -> None:
    """And it has the version of germane, whose extra `client` names the same packages."""
    with zipfile.ZipFile(wheel) as archive:
        assert sum(file.file_size for file in archive.infolist()) < 1_300_000
        assert all(name.startswith("germane_client") for name in archive.namelist())
        assert "germane_client/py.typed" in archive.namelist()
    light, whole = (tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"] for folder in (PACKAGE, ROOT))
    assert light["version"] == whole["version"]
    unmarked = [package for package in light["dependencies"] if ";" not in package]
    assert unmarked == whole["optional-dependencies"]["client"]


@pytest.mark.requirement("OPS-3")
def test_a_source_distribution_builds_without_the_repository(tmp_path: Path) -> None:
    """It contains the package as made, because germane's sources aren't beside it."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run([*command, "-t", "sdist"], cwd=PACKAGE, check=True, capture_output=True)
    (packed,) = tmp_path.glob("*.tar.gz")
    subprocess.run(["tar", "xzf", str(packed), "-C", str(tmp_path)], check=True)
    (unpacked,) = (place for place in tmp_path.iterdir() if place.is_dir())
    subprocess.run([*command, "-t", "wheel"], cwd=unpacked, check=True, capture_output=True)
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        assert "germane_client/client/__init__.py" in archive.namelist()
