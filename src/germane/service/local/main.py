"""Main: the program of the local service: takes the lock, serves on loopback with a key of its own, and ends when it is idle.

    python -m germane.service.local.main [PROCESS]

Of several that are started, all but one end at once. With the id of a process that hangs, that process is ended first, where it
still doesn't answer. The service is that of `germane serve`, over one database, with hooks beside it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep

from germane.service.local.caller import (
    LOCK,
    LOG,
    PROTOCOL,
    Hung,
    ServiceState,
    Unreachable,
    call,
    data_folder,
    forget_start,
    is_running,
    read_state,
    start,
)

IDLE_SECONDS = 1800.0
_MAX_LOG = 4 << 20
"""Bytes at which the log begins anew; the one before is kept."""
_STILL_SECONDS = 3.0
"""How long a service that hung is given to answer once more."""
_TAKING_SECONDS = 2.0
"""How long the lock is waited for: a caller that asks whether it is held holds it for a moment, and a service that ends holds
it until it has ended."""
_STOP_PATH = "/hooks/stop"


def main() -> None:
    """Serves until the service is idle or told to stop."""
    os.umask(0o077)
    folder = data_folder(os.environ)
    Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    if len(sys.argv) > 1 and sys.argv[1].isdecimal():
        end_hung(folder, int(sys.argv[1]))
    lock = taken(folder)
    if lock is None:
        return
    try:
        _unlisted(folder)
        _begin_log(folder)
        own = read_state(folder)
        own.protocol, own.version = PROTOCOL, version("germane")
        from germane.service.local.service import serve_locally

        serve_locally(Path(folder), own, idle=_idle_seconds())
    finally:
        _unlisted(folder)
        forget_start(folder)
        os.close(lock)


def _unlisted(folder: str) -> None:
    """Takes the process out of the state: nobody listens on the port, though the lock is held."""
    state = read_state(folder)
    state.pid = 0
    state.write(folder)


def taken(folder: str) -> int | None:
    """Returns the descriptor of the lock; None where another service has it."""
    descriptor = os.open(Path(folder) / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    ends = monotonic() + _TAKING_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except OSError:
            if monotonic() > ends:
                os.close(descriptor)
                return None
            sleep(0.02)


def end_hung(folder: str, process: int) -> None:
    """Kills the service where it still hangs. The process is the one that the holder of the lock has named, so that no other
    process is ever meant."""
    state = read_state(folder)
    if state.pid != process or process <= 1 or not is_running(folder):
        return
    try:
        call(state, "/hooks/alive", b"{}", _STILL_SECONDS)
        forget_start(folder)
        return
    except Unreachable:
        return
    except Hung:
        pass
    if read_state(folder).pid == process and is_running(folder):
        _unlisted(folder)
        with suppress(OSError):
            os.kill(process, signal.SIGKILL)


def stop(folder: str, seconds: float = 10.0) -> bool:
    """Asks the service to end, and waits until it has. Returns whether none is there any more."""
    if not is_running(folder):
        return True
    with suppress(Unreachable, Hung):
        call(read_state(folder), _STOP_PATH, b"{}")
    ends = monotonic() + seconds
    while is_running(folder) and monotonic() < ends:
        sleep(0.05)
    return not is_running(folder)


def is_newer(own: str, other: str) -> bool:
    """Returns whether a version is newer than another one; False where one can't be read."""
    return bool(_release(own)) and bool(_release(other)) and _release(own) > _release(other)


def _release(text: str) -> tuple[int, ...]:
    parts = text.split(".")[:3]
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 9 for part in parts) else ()


def replace_older(folder: str, own: str) -> bool:
    """Ends a service of an earlier version than this caller's. Returns whether one was ended."""
    state = read_state(folder)
    return is_running(folder) and is_newer(own, state.version) and stop(folder)


def started(folder: str, seconds: float = 30.0) -> ServiceState:
    """Returns the state of a service that listens, and starts one where there is none. A service of an earlier version is
    replaced. Raises `Unreachable` where none listens after `seconds`."""
    replace_older(folder, version("germane"))
    ends = monotonic() + seconds
    while True:
        if is_running(folder):
            state = read_state(folder)
            if state.pid:
                return state
        else:
            start(folder)
        if monotonic() > ends:
            raise Unreachable(f"the local service doesn't start: {Path(folder) / LOG} says why")
        sleep(0.05)


def _begin_log(folder: str) -> None:
    path = Path(folder) / LOG
    with suppress(OSError):
        if path.stat().st_size > _MAX_LOG:
            path.replace(path.with_suffix(".log.1"))
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            os.close(descriptor)


def _idle_seconds() -> float:
    try:
        return max(1.0, float(os.environ.get("GERMANE_IDLE_SECONDS", IDLE_SECONDS)))
    except ValueError:
        return IDLE_SECONDS


if __name__ == "__main__":
    main()
