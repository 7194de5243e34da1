"""The supervisor of worker processes: start, restart, stop. The processes are real and small."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from germane.service.supervisor import Supervisor, WorkerFailed

pytestmark = pytest.mark.requirement("OPS-2")


def until_told(index: int, told: Any, folder: Path) -> None:
    """A worker that runs until SIGTERM, and leaves a file when it gets it."""

    def end(number: int, frame: object) -> None:
        Path(folder, f"ended-{index}").touch()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    told.send(index)
    if index:
        Path(folder, f"began-{index}").touch()
        if len(list(folder.glob("began-*"))) == 2:
            os.kill(os.getppid(), signal.SIGTERM)
    while True:
        signal.pause()


def stubborn(index: int, told: Any, folder: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    told.send(index)
    os.kill(os.getppid(), signal.SIGTERM)
    while True:
        signal.pause()


def once_killed(index: int, told: Any, folder: Path) -> None:
    """Killed the first time; the second time it ends the test."""
    told.send(index)
    if not (mark := folder / "lived").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    os.kill(os.getppid(), signal.SIGTERM)


def refused(index: int, told: Any, folder: Path) -> None:
    Path(folder, f"tried-{index}").touch()
    os._exit(3)


def unexpected(*told: Any) -> None:
    pytest.fail(f"a worker ended by itself: {told}")


def test_all_begin_and_a_signal_to_the_parent_ends_them(tmp_path: Path) -> None:
    """Every worker gets SIGTERM and ends in order."""
    words: list[Any] = []
    Supervisor(until_told, (tmp_path,), 3, 30.0, unexpected).run(words.append)
    assert words == [0]
    assert sorted(path.name for path in tmp_path.glob("ended-*")) == ["ended-0", "ended-1", "ended-2"]


def test_one_that_dies_is_begun_anew(tmp_path: Path) -> None:
    """The callback gets its index, exit code and pause."""
    told: list[tuple[int, int, float]] = []
    ended = lambda index, process, code, pause: told.append((index, code, pause))  # noqa: E731
    Supervisor(once_killed, (tmp_path,), 1, 30.0, ended).run(lambda word: None)
    assert told[:1] == [(0, -9, 0.1)]


def test_a_first_one_that_is_refused_ends_it_all(tmp_path: Path) -> None:
    """The other workers aren't started: they would report the same error."""
    with pytest.raises(WorkerFailed) as failed:
        Supervisor(refused, (tmp_path,), 3, 30.0, unexpected).run(lambda word: None)
    assert failed.value.code == 3
    assert [path.name for path in tmp_path.iterdir()] == ["tried-0"]


def test_one_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ignores SIGTERM is killed after the grace period."""
    monkeypatch.setattr("germane.service.supervisor._KILL_SECONDS", 0.2)
    Supervisor(stubborn, (tmp_path,), 1, 0.0, unexpected).run(lambda word: None)


def test_signals_are_as_they_were_afterwards(tmp_path: Path) -> None:
    """The previous signal handlers are restored."""
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(WorkerFailed):
        Supervisor(refused, (tmp_path,), 1, 1.0, unexpected).run(lambda word: None)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before
