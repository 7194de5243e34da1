"""What most tests start from: a store in a real file with the real default embedder, loaded once, and a calendar that stands
still until it is moved."""

from __future__ import annotations

import gc
import io
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from germane import Agent, Germane
from germane.cli import main
from germane.models.embedders.distilled import Distilled
from support import examples
from support.calendar import Calendar, Opening
from support.quick_opening import copy_new_stores, warm_up_once

os.environ["COLUMNS"] = "100"  # the width of what is printed doesn't depend on how the tests are started
examples.register()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collects the tests without garbage collection, which took a third of the time. What exists then isn't looked through by
    the collections that come later: it stays until the end anyway."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _quick_opening() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        copy_new_stores(patch)
        warm_up_once(patch)
        yield


@pytest.fixture(scope="session")
def embedder() -> Distilled:
    distilled = Distilled()
    distilled.warm()
    return distilled


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, with its key in the same file."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    made += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "certificate"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both


@pytest.fixture
def calendar() -> Calendar:
    return Calendar()


@pytest.fixture
def opening(tmp_path: Path, embedder: Distilled, calendar: Calendar) -> Opening:
    """Opens the same store, again and again."""

    def opened(**options: Any) -> Germane:
        given: dict[str, Any] = {"embedder": embedder, "clock": calendar.clock}
        return Germane.open(tmp_path / "germane.db", **given | options)

    return opened


@pytest.fixture
async def germane(opening: Opening) -> AsyncIterator[Germane]:
    async with opening() as opened:
        yield opened


@pytest.fixture
def agent(germane: Germane) -> Agent:
    return germane.agent("support", org="acme", user="caroline")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(embedder: Distilled) -> AsyncIterator[Germane]:
    """One empty store for all tests of a module that write nothing. They run on the module's event loop:
    `@pytest.mark.asyncio(loop_scope="module")`."""
    async with Germane.open(":memory:", embedder=embedder, clock=Calendar().clock, freeze=False) as opened:
        yield opened


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run the command in an empty folder; `expect` is the exit code. Returns stdout, or stderr of a failure."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, expect: int = 0, stdin: str = "", columns: int = 100) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        code = main(list(arguments))
        out, err = capsys.readouterr()
        assert code == expect, err
        return out if expect == 0 else err

    return command
