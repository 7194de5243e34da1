"""Files: reads files and standard input, writes files; every failure is an `InvalidInput` that says what to do."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from germane.cli.imports.detect_format import parse_json
from germane.cli.screen import console, plain
from germane.errors import InvalidInput

_PATIENCE = 1.0
"""Seconds without any data from a pipe after which the command says what it waits for."""


def open_bytes(path: str) -> BinaryIO:
    """Open a file for reading, or standard input where `path` is `-`. A pipe is waited for, as long as it takes, and standard
    error says so. Raises `InvalidInput`."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing on standard input (pipe something in, or give a file)")
        stream = getattr(sys.stdin, "buffer", None)
        return stream if stream is not None else BytesIO(sys.stdin.read().encode("utf-8", "surrogatepass"))
    try:
        return _opened_pipe(path) if Path(path).is_fifo() else Path(path).open("rb")
    except FileNotFoundError:
        raise InvalidInput(f"no file {path} (check the path)") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a directory (give a file)") from None
    except PermissionError:
        raise InvalidInput(f"{path} can't be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path[:80]!r} can't be read: {getattr(error, 'strerror', None) or error}") from None


def _opened_pipe(path: str) -> BinaryIO:
    """Opening a pipe into which nobody writes yet would wait without a word."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(1000 * _PATIENCE):
            _say(f"waiting for data from the pipe {plain(path, 200)} (Ctrl-C ends it)")
            poll.poll()
        os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _say(text: str) -> None:
    console(stderr=True).print(text)


def read_bytes(path: str) -> bytes:
    """Read a file, or standard input where `path` is `-`. Raises `InvalidInput`."""
    try:
        with open_bytes(path) as stream:
            return stream.read()
    except OSError as error:
        raise InvalidInput(f"{path[:80]!r} can't be read: {error.strerror or error}") from None


def read_text(path: str) -> str:
    """Read UTF-8 text. Raises `InvalidInput` where the file isn't UTF-8 or is empty."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{_name(path)}: not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    if not text.strip():
        raise InvalidInput(f"{_name(path)} is empty")
    return text


def read_json(path: str) -> Any:
    """Read one JSON document. Raises `InvalidInput`."""
    data = read_bytes(path)
    if not data.strip():
        raise InvalidInput(f"{_name(path)} is empty (give a JSON document)")
    try:
        return parse_json(data)
    except InvalidInput as error:
        raise InvalidInput(f"{_name(path)}: {error}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFile:
    """The request in a file. `tools` and `system` are None where it has none."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    system: Any = None


def request_in(path: str) -> RequestFile:
    """Read a request: a list of messages, or an object with `messages` and perhaps `tools` and `system`. Raises
    `InvalidInput`."""
    request = read_json(path)
    fields = request if isinstance(request, Mapping) else {"messages": request}
    messages, tools = fields.get("messages"), fields.get("tools")
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise InvalidInput(f'{_name(path)}: must be a list of messages such as [{{"role": "user", "content": "…"}}]')
    return RequestFile(messages=messages, tools=tools if isinstance(tools, list) else None, system=fields.get("system"))


def owner_only(path: str, flags: int) -> int:
    """An opener for `open`: creates a new file with mode 0600, because its content comes from the store."""
    return os.open(path, flags, 0o600)


def write_text(path: Path, text: str) -> None:
    """Write a file; a new one gets mode 0600. Raises `InvalidInput` where it can't be written."""
    try:
        with open(path, "w", encoding="utf-8", opener=owner_only) as stream:
            stream.write(text)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from None


def _name(path: str) -> str:
    return "standard input" if path == "-" else path
