"""Relay: an MCP server on stdin and stdout for one project, which passes each message on to the local service.

    python -m germane.service.local.relay [FOLDER]

A client starts one for each of its sessions, so it imports the standard library alone and takes a few megabytes. While it runs,
the service doesn't end for being idle. It starts the service, also anew when that has ended or hangs, and has a service of an
earlier version replaced.
"""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from threading import BoundedSemaphore, Event, Lock, Thread
from time import monotonic
from typing import Any, BinaryIO
from urllib.parse import quote

from germane.service.hooks.projects import PERSON, project_of
from germane.service.local.caller import (
    Hung,
    ServiceState,
    Unreachable,
    call,
    data_folder,
    hold_open,
    is_running,
    read_state,
    start,
)
from germane.service.local.main import replace_older

_WATCH_SECONDS = 10.0
_READY_SECONDS = 20.0
"""How long a message waits for a service that starts."""
_CALL_SECONDS = 60.0
_LAST_SECONDS = 10.0
"""How long what is under way may take when the client has closed the stream."""
_AT_ONCE = 8
_MAX_LINE = 4 << 20
_VERSION = "io.modelcontextprotocol/protocolVersion"
"""The key of a request's `_meta` that names the revision, from 2026-07-28 on."""
_REPEATED: Mapping[str, str] = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter of a method that a header repeats."""
_PLAIN = re.compile(r"[\x21-\x7E]([\x20-\x7E]*[\x21-\x7E])?")
_INTERNAL, _PARSE = -32603, -32700


class McpRelay:
    """Passes messages on. Thread-safe."""

    def __init__(self, folder: str, agent: str, written: BinaryIO) -> None:
        self._folder, self._written = folder, written
        self._path = f"/mcp/{quote(agent, safe='')}?user={PERSON}"
        self._places, self._writing, self._ending = BoundedSemaphore(_AT_ONCE), Lock(), Event()
        self._revision = ""
        """What an earlier client has agreed on with `initialize`, which later messages don't repeat."""

    def run(self, lines: BinaryIO) -> None:
        """Returns when the client has closed the stream."""
        held = hold_open(self._folder)
        try:
            Thread(target=self._watch, daemon=True).start()
            while line := lines.readline(_MAX_LINE):
                if line.strip():
                    self._places.acquire()
                    Thread(target=self._answer, args=(line,), daemon=True).start()
            ends = monotonic() + _LAST_SECONDS
            for _ in range(_AT_ONCE):  # what is under way is answered
                self._places.acquire(timeout=max(0.0, ends - monotonic()))
        finally:
            self._ending.set()
            os.close(held)

    def _watch(self) -> None:
        """Starts the service where there is none, and has one that hangs replaced."""
        own = version("germane")
        while not self._ending.is_set():
            with suppress(OSError, ValueError):
                self._look(own)
            self._ending.wait(_WATCH_SECONDS)

    def _look(self, own: str) -> None:
        with suppress(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)  # a service that this process started and that has ended
        if not is_running(self._folder) or replace_older(self._folder, own):
            start(self._folder)
            return
        state = read_state(self._folder)
        if state.pid:
            try:
                call(state, "/hooks/alive", b"{}")
            except Unreachable:
                pass
            except Hung:
                start(self._folder, replacing=state.pid)

    def _answer(self, line: bytes) -> None:
        try:
            answer = self._answered(line)
            if answer:
                with self._writing:
                    self._written.write(answer + b"\n")
                    self._written.flush()
        except (OSError, ValueError):  # the client has gone
            self._ending.set()
        finally:
            self._places.release()

    def _answered(self, line: bytes) -> bytes:
        """The answer as one line; empty for a message that has none."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return _error(None, _PARSE, "the message isn't JSON")
        id = message.get("id") if isinstance(message, dict) else None
        try:
            state = self._ready()
            status, body = call(state, self._path, line, _CALL_SECONDS, **self._headers(message))
            found = json.loads(body) if body.strip() else None
        except (Unreachable, Hung, ValueError, RecursionError, OSError) as error:
            why = f"the memory can't be reached now: {error or 'no answer in time'}; germane doctor says more"
            return b"" if id is None else _error(id, _INTERNAL, why)
        if id is None:
            return b""
        if not isinstance(found, dict) or "jsonrpc" not in found:
            detail = found.get("detail", "") if isinstance(found, dict) else ""
            return _error(id, _INTERNAL, f"the local service answered {status} {detail}".strip())
        if message.get("method") == "initialize" and isinstance(agreed := found.get("result"), dict):
            self._revision = str(agreed.get("protocolVersion", ""))
        return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    def _ready(self) -> ServiceState:
        """The state of a service that listens; one that isn't there yet is waited for."""
        ends = monotonic() + _READY_SECONDS
        while True:
            state = read_state(self._folder)
            if is_running(self._folder):
                if state.pid:
                    return state
            else:
                start(self._folder)
            if self._ending.wait(0.05) or monotonic() > ends:
                raise Unreachable("it doesn't start")

    def _headers(self, message: Any) -> dict[str, str]:
        """The headers that repeat what the message says, as HTTP asks for."""
        headers = {"accept": "application/json, text/event-stream"}
        if not isinstance(message, dict):
            return headers
        method, parameters = message.get("method"), message.get("params")
        parameters = parameters if isinstance(parameters, dict) else {}
        meta = parameters.get("_meta")
        named = meta.get(_VERSION) if isinstance(meta, dict) else None
        if isinstance(named, str):
            headers["mcp_protocol_version"] = _header(named)
            if isinstance(method, str):
                headers["mcp_method"] = _header(method)
                if isinstance(name := parameters.get(_REPEATED.get(method, "")), str):
                    headers["mcp_name"] = _header(name)
        elif self._revision:
            headers["mcp_protocol_version"] = _header(self._revision)
        return headers


def _header(value: str) -> str:
    if _PLAIN.fullmatch(value) and not value.startswith("=?"):
        return value
    return f"=?base64?{b64encode(value.encode('utf-8', 'replace')).decode()}?="


def _error(id: Any, code: int, text: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}).encode()


def main() -> None:
    """Serves the project of the folder that is given, or of the working directory."""
    given = sys.argv[1] if len(sys.argv) > 1 else ""
    where = given if given.startswith("/") else os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()  # noqa: PTH109
    folder = data_folder(os.environ)
    os.makedirs(folder, mode=0o700, exist_ok=True)  # noqa: PTH103
    with suppress(KeyboardInterrupt):
        McpRelay(folder, project_of(where).agent, sys.stdout.buffer).run(sys.stdin.buffer)
    os._exit(0)


if __name__ == "__main__":
    main()
