"""Caller: finds the local service, calls it and starts it, with little of the standard library: also the command of hooks.

    python -I -S caller.py codex < event.json

prints what the service answers to a hook's event. A coding agent waits for this program, so the program imports neither germane
nor `json` nor `socket`, and ends after a second at the latest. It prints nothing and exits with 0 whatever goes wrong.

The service holds a lock while it lives. A caller sends nothing to the port while nobody holds the lock: another program could
listen there.
"""

from __future__ import annotations

import _socket  # `socket` itself takes longer to import than a call takes
import fcntl
import os
import sys
from time import monotonic, time

TYPE_CHECKING = False  # `typing` takes longer to import than all of this file
if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOL = 1
"""The version of what callers and the service say to each other. A service answers callers of its own version and of earlier
ones."""
STATE, LOCK, CLIENTS, LOG = "service.state", "service.lock", "clients.lock", "service.log"
"""Files of the folder: what callers need to know; the lock that the service holds; the one that open clients share; its log."""
_HUNG, _STARTED = "service.hung", "service.started"
_WAIT = 0.8
"""Seconds for a call, all together."""
_START_AGAIN = 10.0
"""Seconds after a start at which the next one may be made."""
MAX_EVENT = 4 << 20
"""Bytes of a hook's event."""
_MAX_ANSWER = 1 << 20
_MAX_STATE = 4096
_PART = 1 << 16


class Unreachable(Exception):
    """The service can't be called: it isn't there, or is starting."""


class Hung(Exception):
    """The service lives and doesn't answer in time."""


class ServiceState:
    """What the service has written about itself: `port`, `key`, `pid`, `version`, `protocol`; empty or 0 where nothing is.
    `pid` is 0 until it listens: until then another program may have the port."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        self.key, self.version = fields.get("key", ""), fields.get("version", "")
        self.port, self.pid, self.protocol = (_number(fields.get(name, "")) for name in ("port", "pid", "protocol"))

    def write(self, folder: str) -> None:
        """Replaces the file in one step; only this person may read it."""
        fields = {"protocol": self.protocol, "port": self.port, "key": self.key, "pid": self.pid, "version": self.version}
        path = os.path.join(folder, STATE)
        written = f"{path}.{os.getpid()}"
        descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write("".join(f"{name} {value}\n" for name, value in fields.items()))
        os.replace(written, path)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 12 else 0


def data_folder(environment: Mapping[str, str]) -> str:
    """Returns the folder with the database, the state and the log: `GERMANE_HOME`, else the platform's for data."""
    if own := environment.get("GERMANE_HOME"):
        return os.path.abspath(own)
    home = environment.get("HOME") or os.path.expanduser("~")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "germane")
    data = environment.get("XDG_DATA_HOME", "")
    return os.path.join(data if os.path.isabs(data) else os.path.join(home, ".local", "share"), "germane")


def read_state(folder: str) -> ServiceState:
    """Returns the state; an empty one where there is none."""
    try:
        with open(os.path.join(folder, STATE), encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_STATE).splitlines()
    except OSError:
        return ServiceState({})
    return ServiceState({name: value for name, _, value in (line.partition(" ") for line in lines)})


def is_running(folder: str) -> bool:
    """Returns whether a service lives: whether its lock is held."""
    return is_locked(os.path.join(folder, LOCK))


def is_locked(path: str, *, alone: bool = False) -> bool:
    """Returns whether another process, or another part of this one, holds the lock: for itself, or with `alone` also together
    with others."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def hold_open(folder: str) -> int:
    """Keeps the service from ending when it is idle, until the returned descriptor is closed, or this process ends."""
    descriptor = os.open(os.path.join(folder, CLIENTS), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def call(state: ServiceState, path: str, body: bytes, wait: float = _WAIT, **headers: str) -> tuple[int, bytes]:
    """Posts JSON to the service; returns the status and the body. Raises `Unreachable`; `Hung` where the answer isn't there
    `wait` seconds after the call."""
    ends = monotonic() + wait
    given = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{state.port}\r\nauthorization: Bearer {state.key}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{given}\r\n"
    )
    connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    try:
        connection.settimeout(wait)
        try:
            connection.connect(("127.0.0.1", state.port))
            connection.sendall(head.encode("ascii", "replace") + body)
            return _read(connection, ends)
        except TimeoutError:
            raise Hung from None
        except (OSError, ValueError, OverflowError) as error:
            raise Unreachable(str(error)) from None
    finally:
        connection.close()


def _read(connection: _socket.socket, ends: float) -> tuple[int, bytes]:
    parts, size = list[bytes](), 0
    while True:
        left = ends - monotonic()
        if left <= 0:
            raise Hung
        connection.settimeout(left)
        part = connection.recv(_PART)
        size += len(part)
        if size > _MAX_ANSWER:
            raise Unreachable("the answer is too long")
        if not part:
            break
        parts.append(part)
    head, blank, body = b"".join(parts).partition(b"\r\n\r\n")
    status = head[9:12]
    if not blank or not head.startswith(b"HTTP/1.1 ") or not status.isdigit():
        raise Unreachable("what answers isn't the service")
    return int(status), body


def start(folder: str, *, replacing: int = 0) -> bool:
    """Starts a service that outlives this process, and doesn't wait for it. Returns False where one was started a moment ago.
    With `replacing`, the process id of one that hangs, that one is ended first where it still hangs. Of several services that
    are started at once one stays."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    marker = os.path.join(folder, _STARTED)
    descriptor = os.open(marker, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        if not replacing and os.fstat(descriptor).st_size and time() - os.fstat(descriptor).st_mtime < _START_AGAIN:
            return False
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"started\n")
        _spawn(folder, replacing)
        return True
    finally:
        os.close(descriptor)


def _spawn(folder: str, replacing: int) -> None:
    """The service gets a session of its own, and none of this process's streams: an agent may wait until they are closed."""
    program = [sys.executable, "-P", "-m", "germane.service.local.main", *([str(replacing)] if replacing else [])]
    log = os.open(os.path.join(folder, LOG), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        from subprocess import DEVNULL, Popen

        environment = {**os.environ, "GERMANE_HOME": folder}
        started = Popen(program, stdin=DEVNULL, stdout=log, stderr=log, cwd=folder, env=environment, start_new_session=True)
        started.returncode = 0  # nobody waits for it: the object doesn't complain when it is deleted
    finally:
        os.close(log)


def forget_start(folder: str) -> None:
    """Lets the next start be made at once: for a service that ends."""
    for name in (_STARTED, _HUNG):
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            pass


def answer_to(client: str, event: bytes, folder: str) -> bytes:
    """Returns what the service answers to a hook's event, empty where it doesn't. Starts the service where there is none. One
    that hangs is waited for once: it is replaced, and until then its process id is remembered."""
    if not is_running(folder):
        start(folder)
        return b""
    state, hung = read_state(folder), os.path.join(folder, _HUNG)
    if not state.pid or _number(_text(hung)) == state.pid:
        return b""
    try:
        status, answer = call(state, f"/hooks/{client}?protocol={PROTOCOL}", event)
    except Unreachable:
        return b""
    except Hung:
        _remember(hung, str(state.pid))
        start(folder, replacing=state.pid)
        return b""
    return answer if status == 200 else b""


def _text(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read(32).strip()
    except OSError:
        return ""


def _remember(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def main() -> None:
    """Answers one event, for the client that the command names."""
    try:
        client, event = sys.argv[1], sys.stdin.buffer.read(MAX_EVENT + 1)
        if client.isascii() and client.replace("-", "").isalnum() and len(event) <= MAX_EVENT:
            sys.stdout.buffer.write(answer_to(client, event, data_folder(os.environ)))
            sys.stdout.flush()
    except BaseException:  # whatever it is: a hook that fails can stop a prompt
        pass
    os._exit(0)  # without the interpreter's end, in which a closed stream would be an error


if __name__ == "__main__":
    main()
