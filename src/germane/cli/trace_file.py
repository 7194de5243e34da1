"""Trace file: one assembly on disk, so that `explain --trace` shows it again exactly as it was.

It holds what was found, chosen and left out, with the text of it: keep it as private as the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from germane.cli.codec import decode, encode
from germane.cli.reading import read_json, write_text
from germane.cli.screen import dumped
from germane.errors import InvalidInput
from germane.types.context import Context, Metadata
from germane.types.trace import Trace

__all__ = ["VERSION", "Saved", "dump", "load", "save", "saved"]

VERSION = 1
_FORMAT = "germane-trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """What is needed to explain an assembly: of the context all but the messages themselves."""

    provider: str
    added: str
    metadata: Metadata
    trace: Trace


def saved(context: Context) -> Saved:
    return Saved(provider=context.provider, added=context.added, metadata=context.metadata, trace=context.trace)


def dump(kept: Saved) -> dict[str, Any]:
    """The JSON document: `format`, `version`, then the fields of `Saved`."""
    return {"format": _FORMAT, "version": VERSION, **encode(kept)}


def save(kept: Saved, path: Path) -> None:
    """Raises `InvalidInput` where the file can't be written."""
    write_text(path, dumped(dump(kept), indent=None) + "\n")


def load(path: str) -> Saved:
    """Read a trace file. Raises `InvalidInput` naming what is wrong with it."""
    found = read_json(path)
    if not isinstance(found, Mapping) or found.get("format") != _FORMAT:
        raise InvalidInput(f"{path} is no saved trace (write one with germane assemble --save-trace FILE)")
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is a trace of version {repr(version)[:20]}; this germane reads version {VERSION} (save it again)"
        )
    try:
        return decode(Saved, {key: value for key, value in found.items() if key not in ("format", "version")}, "trace file")
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None
