"""JSON file: reads a JSON document with its path, or raises an error that says where the file is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from germane.errors import InvalidInput

__all__ = ["JsonFile", "read_json_file"]


class JsonFile(NamedTuple):
    """A parsed JSON document and its path."""

    path: Path
    document: Any


def read_json_file(path: Path) -> JsonFile:
    """Reads a UTF-8 file, with or without a byte order mark. Raises `InvalidInput` naming the file and, for broken JSON, the
    line."""
    try:
        return JsonFile(path, json.loads(path.read_bytes().decode("utf-8-sig")))
    except OSError as error:
        raise InvalidInput(f"{path}: can't be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not UTF-8 at byte {error.start + 1}: save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise InvalidInput(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except (ValueError, RecursionError):
        raise InvalidInput(f"{path}: not JSON that can be read: nested too deep, or a number too long") from None
