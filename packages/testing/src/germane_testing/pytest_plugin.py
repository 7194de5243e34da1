"""Pytest plugin: the fixtures `pin` and `llm_provider`, the option `--update-pins`; pytest loads it by its entry point.

Every pytest run in an environment with germane loads this module. It imports the rest of germane only when a test requests the
fixture, to keep other test suites fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from germane_testing.pins import Pinning
    from germane_testing.provider import LocalProvider


_SNAPSHOTS = pytest.StashKey[Any]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("germane", "pinned contexts")
    group.addoption("--update-pins", action="store_true", help="write the snapshots of pinned contexts as they are now")


@pytest.fixture
def pin(request: pytest.FixtureRequest) -> Pinning:
    """Checks of a context: `pin(context).includes("…").within(800).snapshot()`."""
    from germane_testing.pins import Pinning, Snapshots

    stash = request.config.stash
    if _SNAPSHOTS not in stash:
        stash[_SNAPSHOTS] = Snapshots(update=bool(request.config.getoption("--update-pins")))
    return Pinning(
        folder=request.path.parent,
        test=request.node.nodeid,
        name=f"{request.path.stem}-{request.node.name}",
        snapshots=stash[_SNAPSHOTS],
    )


@pytest.fixture
def llm_provider() -> Iterator[LocalProvider]:
    """A local provider in a thread, for blocking and awaiting code: point a client at `llm_provider.url`."""
    from germane_testing.provider import provider_in_thread

    with provider_in_thread() as provider:
        yield provider


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    snapshots = config.stash.get(_SNAPSHOTS, None)
    if snapshots is not None and snapshots.written:
        terminalreporter.section("pinned contexts")
        for path in sorted(snapshots.written):
            terminalreporter.write_line(f"written: {path}")
