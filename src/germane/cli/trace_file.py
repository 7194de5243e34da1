"""Trace file: one assembly on disk, so that `explain --trace` can show it again unchanged.

A trace file holds the texts of what was found, selected and left out: keep it as private as the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from germane.cli.codec import decode, encode
from germane.cli.files import read_json, write_text
from germane.cli.screen import printable_json
from germane.errors import InvalidInput
from germane.types.context import Context, Metadata
from germane.types.trace import Trace

__all__ = ["VERSION", "SavedTrace", "dump", "load", "save"]

VERSION = 1
_FORMAT = "germane-trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTrace:
    """The parts of a `Context` that explain it: everything except the messages."""

    provider: str
    added: str
    metadata: Metadata
    trace: Trace

    @classmethod
    def of(cls, context: Context) -> SavedTrace:
        return cls(provider=context.provider, added=context.added, metadata=context.metadata, trace=context.trace)


def dump(saved: SavedTrace) -> dict[str, Any]:
    """Returns the JSON document: `format`, `version`, then the fields of `SavedTrace`."""
    return {"format": _FORMAT, "version": VERSION, **encode(saved)}


def save(saved: SavedTrace, path: Path) -> None:
    """Write a trace file. Raises `InvalidInput` where the file can't be written."""
    write_text(path, printable_json(dump(saved), indent=None) + "\n")


def load(path: str) -> SavedTrace:
    """Read a trace file. Raises `InvalidInput`, with the place of the fault, where the file is no trace of this version."""
    document = read_json(path)
    if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
        raise InvalidInput(f"{path} is no saved trace (write one with germane assemble --save-trace FILE)")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is a trace of version {repr(version)[:20]}; this germane reads version {VERSION} (save it again)"
        )
    content = {key: value for key, value in document.items() if key not in ("format", "version")}
    try:
        return decode(SavedTrace, content, "trace file")
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None
