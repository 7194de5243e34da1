"""Reading: files and standard input, as bytes, text or messages, with an error a person can act on."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from germane.cli.imports.detect import document
from germane.errors import InvalidInput

__all__ = ["messages_in", "private", "read_bytes", "read_json", "read_text", "write_text"]


def read_bytes(path: str) -> bytes:
    """The file's bytes, or standard input's for `-`. Raises `InvalidInput`."""
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise InvalidInput("nothing on standard input (pipe something in, or give a file)")
        stream = getattr(sys.stdin, "buffer", None)
        return stream.read() if stream is not None else sys.stdin.read().encode("utf-8", "surrogatepass")
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"no file {path} (check the path)") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a directory (give a file)") from None
    except PermissionError:
        raise InvalidInput(f"{path} can't be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path[:80]!r} can't be read: {getattr(error, 'strerror', None) or error}") from None


def read_text(path: str) -> str:
    """Text in UTF-8. Raises `InvalidInput` where it isn't, or there is none."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{_called(path)}: not UTF-8 at byte {error.start + 1} (save it as UTF-8)") from None
    if not text.strip():
        raise InvalidInput(f"{_called(path)} is empty")
    return text


def read_json(path: str) -> Any:
    """One JSON document. Raises `InvalidInput`."""
    data = read_bytes(path)
    if not data.strip():
        raise InvalidInput(f"{_called(path)} is empty (give a JSON document)")
    try:
        return document(data)
    except InvalidInput as error:
        raise InvalidInput(f"{_called(path)}: {error}") from None


def messages_in(path: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]] | None]:
    """A request's messages and its tools, if it has any: a list of messages, or an object with `messages`."""
    found = read_json(path)
    tools = found.get("tools") if isinstance(found, Mapping) else None
    messages = found.get("messages") if isinstance(found, Mapping) else found
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise InvalidInput(f'{_called(path)}: must be a list of messages such as [{{"role": "user", "content": "…"}}]')
    return messages, tools if isinstance(tools, list) else None


def private(path: str, flags: int) -> int:
    """An opener: a file that isn't there yet is made for its owner alone (mode 0600): what is written holds what is stored."""
    return os.open(path, flags, 0o600)


def write_text(path: Path, text: str) -> None:
    """Write a file whole; a new one is its owner's alone. Raises `InvalidInput` where the place can't be written."""
    try:
        with open(path, "w", encoding="utf-8", opener=private) as stream:
            stream.write(text)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from None


def _called(path: str) -> str:
    return "standard input" if path == "-" else path
