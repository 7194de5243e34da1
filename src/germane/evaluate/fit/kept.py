"""Kept: candidate lists in a file, so that the next fit needs no store and no embedder.

The file is a numpy archive with the arrays of all lists end to end, and with their origin: the data, the embedder, and a
fingerprint of the code that computes evidence. A file of another origin is ignored, because its evidence may differ. The
model's coefficients don't count as origin: they only decide which candidates stand at the end of a list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from germane.errors import InvalidInput
from germane.evaluate.fit.lists import Candidates
from germane.types.evidence import FEATURES

__all__ = ["evidence_code", "keep", "recover"]

_VERSION = 4
_ARRAYS = ("table", "relevant", "message", "share", "cost", "group", "header", "session", "position", "created")
_CODE = ("types/evidence.py", "search", "pipeline/signals", "text", "pipeline/gather", "pipeline/score")


def evidence_code() -> str:
    """A fingerprint (16 hexadecimal digits) of the source files that compute evidence."""
    digest = sha256()
    for name in _CODE:
        for source in _sources(files("germane").joinpath(name)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _sources(place: Traversable) -> list[Traversable]:
    if place.is_file():
        return [place] if place.name.endswith(".py") else []
    return [found for inner in sorted(place.iterdir(), key=lambda one: one.name) for found in _sources(inner)]


def keep(path: Path, lists: Sequence[Candidates], origin: Mapping[str, Any]) -> None:
    """Writes `lists` and their `origin`, which must be plain JSON. Raises `InvalidInput` where the file can't be written."""
    plain = [field.name for field in fields(Candidates) if field.name not in _ARRAYS]
    head = {
        "version": _VERSION,
        "features": list(FEATURES),
        "origin": dict(origin),
        "lists": [{"rows": len(one), **{name: getattr(one, name) for name in plain}} for one in lists],
    }
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in lists]) for name in _ARRAYS} if lists else {}
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, head=np.array(json.dumps(head)), **arrays)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from error


def recover(path: Path, origin: Mapping[str, Any]) -> list[Candidates] | None:
    """Reads the lists that `keep` wrote. Returns None where there is no file, or where its origin differs. Raises
    `InvalidInput` for a file of another kind."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            head = json.loads(str(archive["head"]))
            if (head["version"], head["features"], head["origin"]) != (_VERSION, list(FEATURES), dict(origin)):
                return None
            arrays = {name: archive[name] for name in _ARRAYS} if head["lists"] else {}
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise InvalidInput(f"{path} isn't a file of kept candidate lists: give another file, or remove it") from error
    found, start = [], 0
    for entry in head["lists"]:
        rows = slice(start, start := start + entry.pop("rows"))
        found.append(Candidates(**entry, **{name: array[rows] for name, array in arrays.items()}))
    return found
