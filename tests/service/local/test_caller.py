"""Caller: a hook's command never fails and never waits twice; one service is started, by whoever comes first."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from germane.service.local import caller, main
from germane.service.local.caller import (
    Hung,
    ServiceState,
    Unreachable,
    answer_to,
    call,
    data_folder,
    is_running,
    read_state,
    start,
)

pytestmark = pytest.mark.requirement("HOOK-1")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """As a service that lives."""
    descriptor = os.open(folder / caller.LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield
    os.close(descriptor)


class Port:
    """A port that takes connections and answers as it is told; `taken` counts them."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer, self.taken = answer, 0
        self._kept: list[socket.socket] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.number = self._listening.getsockname()[1]
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.taken += 1
            if self.answer is None:
                self._kept.append(connection)
                continue
            with connection, suppress(OSError):  # a caller may go before it has read all
                connection.recv(1 << 16)
                connection.sendall(self.answer)

    def close(self) -> None:
        with suppress(OSError):  # ends `accept`, which closing alone doesn't
            self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        for connection in self._kept:
            connection.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were to be replaced by what was started; 0 for none."""
    made: list[int] = []
    monkeypatch.setattr(caller, "_spawn", lambda folder, replacing: made.append(replacing))
    return made


def state_of(folder: Path, port: int, pid: int = 7) -> ServiceState:
    state = ServiceState({"port": str(port), "key": "gk_a_b", "pid": str(pid)})
    state.write(str(folder))
    return state


def test_without_a_service_one_is_started_and_nothing_is_waited_for(tmp_path: Path, started: list[int]) -> None:
    """A second event starts no second one."""
    folder = str(tmp_path / "data")
    assert answer_to("codex", b"{}", folder) == b""
    assert answer_to("codex", b"{}", folder) == b""
    assert started == [0]


def test_nothing_is_sent_to_a_port_while_no_service_lives(tmp_path: Path, started: list[int]) -> None:
    """Another program may have taken it; it would get the prompt and the key."""
    port = Port(b"HTTP/1.1 200 OK\r\n\r\n{}")
    state_of(tmp_path, port.number)
    assert answer_to("codex", b"{}", str(tmp_path)) == b""
    with locked(tmp_path):
        state_of(tmp_path, port.number, pid=0)  # it has begun, and doesn't listen yet
        assert answer_to("codex", b"{}", str(tmp_path)) == b""
    assert port.taken == 0
    port.close()


def test_a_service_that_hangs_is_waited_for_once(tmp_path: Path, started: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is replaced; until then no event calls it. Its successor is called."""
    monkeypatch.setattr(caller, "_WAIT", 0.05)
    monkeypatch.setattr(caller.call, "__defaults__", (0.05,))
    port = Port(None)
    state_of(tmp_path, port.number)
    with locked(tmp_path):
        for _ in range(5):
            assert answer_to("codex", b"{}", str(tmp_path)) == b""
        assert (port.taken, started) == (1, [7])
        good = Port(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
        state_of(tmp_path, good.number, pid=8)
        assert answer_to("codex", b"{}", str(tmp_path)) == b"{}"
    port.close()
    good.close()


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n{}", b"{}"),
        (b"HTTP/1.1 401 Unauthorized\r\n\r\n{}", b""),
        (b"HTTP/1.1 500 No\r\n\r\n{}", b""),
        (b"", b""),
        (b"SSH-2.0\r\n\r\n", b""),
        (b"HTTP/1.1 abc\r\n\r\nx", b""),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2 << 20), b""),
    ],
    ids=["good", "refused", "failed", "nothing", "another", "no number", "too long"],
)
def test_only_a_good_answer_is_printed(tmp_path: Path, started: list[int], answer: bytes, printed: bytes) -> None:
    """A client reads what is printed."""
    port = Port(answer)
    state_of(tmp_path, port.number)
    with locked(tmp_path):
        assert answer_to("codex", b"{}", str(tmp_path)) == printed
    port.close()


@pytest.mark.parametrize(
    "state", [b"", b"\xff\xfe\x00", b"port x\npid -1\nkey\n", b"port 99999999\npid 7\n", b"pid 7\n" * 9999]
)
def test_a_broken_state_is_none(tmp_path: Path, started: list[int], state: bytes) -> None:
    """The command adds nothing then."""
    (tmp_path / caller.STATE).write_bytes(state)
    with locked(tmp_path):
        assert answer_to("codex", b"{}", str(tmp_path)) == b""


@pytest.mark.parametrize("arguments", [[], ["codex"], ["../x"], ["a\nb"]])
@pytest.mark.parametrize("home", ["there", "missing/deep", "file"])
def test_the_command_ends_with_0_whatever_happens(tmp_path: Path, arguments: list[str], home: str) -> None:
    """Also where its folder can't be made; it prints nothing."""
    (tmp_path / "file").write_text("")
    folder = tmp_path / (home if home != "file" else "file/x")
    if home == "there":
        folder.mkdir()
        (folder / caller.LOCK).touch()
    program = [sys.executable, "-I", "-S", str(caller.__file__), *arguments]
    environment = {"GERMANE_HOME": str(folder), "PATH": "", "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(program, input=b"\xff" * 100, capture_output=True, env=environment, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_the_command_imports_little() -> None:
    """A client waits until the interpreter has started: what isn't imported costs nothing."""
    program = "import sys; exec(open(sys.argv[1]).read(), {'__name__': 'caller'}); print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", program, str(caller.__file__)], capture_output=True, check=True)
    slow = {"collections", "contextlib", "germane", "json", "pathlib", "re", "socket", "subprocess", "threading", "typing"}
    assert slow.isdisjoint(ran.stdout.decode().split())


def test_the_folder_is_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable names another one; relative paths of the platform's variable count for nothing, as its standard says."""
    monkeypatch.setattr(sys, "platform", "linux")
    assert data_folder({"HOME": "/h"}) == "/h/.local/share/germane"
    assert data_folder({"HOME": "/h", "XDG_DATA_HOME": "/d"}) == "/d/germane"
    assert data_folder({"HOME": "/h", "XDG_DATA_HOME": "d"}) == "/h/.local/share/germane"
    assert data_folder({"HOME": "/h", "GERMANE_HOME": "/g"}) == "/g"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert data_folder({"HOME": "/h"}) == "/h/Library/Application Support/germane"


def test_the_state_is_this_persons_alone(tmp_path: Path) -> None:
    """It has the key. What was written is read."""
    state_of(tmp_path, 20001, 9)
    found = read_state(str(tmp_path))
    assert (found.port, found.pid, found.key) == (20001, 9, "gk_a_b")
    assert (tmp_path / caller.STATE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [caller.STATE]


def test_a_lock_is_seen_and_isnt_kept(tmp_path: Path) -> None:
    """To look at it twice changes nothing."""
    assert not is_running(str(tmp_path))
    with locked(tmp_path):
        assert is_running(str(tmp_path))
    assert not is_running(str(tmp_path))
    assert not is_running(str(tmp_path))


def test_a_start_may_be_made_again_when_the_service_has_ended(tmp_path: Path, started: list[int]) -> None:
    """It needn't wait for the seconds after an earlier start; one that replaces another never does."""
    folder = str(tmp_path)
    assert [start(folder), start(folder), start(folder, replacing=7)] == [True, False, True]
    caller.forget_start(folder)
    assert start(folder)
    assert started == [0, 7, 0]


def test_a_call_raises_what_happened(tmp_path: Path) -> None:
    """Nobody listens; nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        number = free.getsockname()[1]
    with pytest.raises(Unreachable):
        call(ServiceState({"port": str(number)}), "/", b"")
    port = Port(None)
    with pytest.raises(Hung):
        call(ServiceState({"port": str(port.number)}), "/", b"", 0.05)
    port.close()


@pytest.mark.parametrize(
    ("own", "other", "newer"),
    [
        ("0.2.0", "0.1.9", True),
        ("0.1.10", "0.1.9", True),
        ("0.1.0", "0.1.0", False),
        ("0.1.0", "0.2.0", False),
        ("1.0", "x", False),
    ],
)
def test_versions_are_compared_by_their_numbers(own: str, other: str, newer: bool) -> None:
    """One that can't be read is neither newer nor older, so that two services don't replace each other in turn."""
    assert main.is_newer(own, other) is newer
    assert not main.is_newer("", other)


def test_only_the_process_that_holds_the_lock_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And only where it still hangs: another process may have got the number."""
    ended: list[Any] = []
    monkeypatch.setattr(main, "_STILL_SECONDS", 0.05)
    monkeypatch.setattr(os, "kill", lambda *arguments: ended.append(arguments))
    hanging, good = Port(None), Port(b"HTTP/1.1 200 OK\r\n\r\n{}")
    state_of(tmp_path, hanging.number, 4_000_000)
    main.end_hung(str(tmp_path), 4_000_000)  # nobody holds the lock
    with locked(tmp_path):
        main.end_hung(str(tmp_path), 4_000_001)
        main.end_hung(str(tmp_path), 1)
        state_of(tmp_path, good.number, 4_000_000)
        main.end_hung(str(tmp_path), 4_000_000)
        assert ended == []
        state_of(tmp_path, hanging.number, 4_000_000)
        main.end_hung(str(tmp_path), 4_000_000)
    assert ended == [(4_000_000, signal.SIGKILL)]
    hanging.close()
    good.close()
