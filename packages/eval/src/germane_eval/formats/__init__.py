"""Formats: readers of public data sets and of the user's own recorded requests; `load` is the entry point.

`load` reads a file or folder in any of the formats as a data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from germane.errors import InvalidInput, UnknownName
from germane_eval.dataset import Conversation, Dataset, Dropped
from germane_eval.formats.draft import Draft, JsonFile, read_json_file
from germane_eval.formats.own import detect, looks_like_requests, read_everyday, read_requests
from germane_eval.formats.public import looks_like_beam, read_beam, read_locomo, read_longmemeval, read_realtalk

__all__ = ["FORMATS", "load"]


FORMATS = ("locomo", "beam", "realtalk", "longmemeval", "everyday", "requests")

_READERS: Mapping[str, Callable[[Iterable[JsonFile]], Iterator[Draft]]] = MappingProxyType(
    {"locomo": read_locomo, "realtalk": read_realtalk, "longmemeval": read_longmemeval, "everyday": read_everyday}
)


def load(path: Path, *, format: str | None = None) -> Dataset:
    """Reads the data set at `path`, a file or folder. Without `format` the shape of the file decides. Broken labels are
    repaired or dropped; `Dataset.dropped` lists the dropped ones with their reasons.

    Raises `InvalidInput` where the files can't be read or hold no usable question, and `UnknownName` where `format` isn't one
    of `FORMATS`.
    """
    if format is not None and format not in FORMATS:
        raise UnknownName(f"unknown format {format[:40]!r}: give one of {', '.join(FORMATS)}")
    if not path.exists():
        raise InvalidInput(f"{path}: no such file or folder")
    chosen, drafts = _drafts(path, format)
    conversations: dict[str, Conversation] = {}
    dropped: list[Dropped] = []
    for draft in drafts:
        if draft.name in conversations:
            raise InvalidInput(f"{path}: the conversation {draft.name} is in it twice: give one file, or name them apart")
        if draft.questions:
            conversations[draft.name] = draft.finish()
        dropped += draft.dropped
        if not draft.questions and not draft.dropped:
            dropped.append(Dropped(where=draft.name, reason="it has no questions"))
    if not conversations:
        first = f" (the first reason: {dropped[0].where}: {dropped[0].reason})" if dropped else ""
        raise InvalidInput(f"{path}: no question in it names a message that holds its answer{first}")
    return Dataset(name=path.stem, format=chosen, conversations=tuple(conversations.values()), dropped=tuple(dropped))


def _drafts(path: Path, format: str | None) -> tuple[str, Iterator[Draft]]:
    """The name of the format, and the drafts that its reader yields."""
    if format == "beam" or (format is None and looks_like_beam(path)):
        return "beam", read_beam(path)
    files = _files(path)
    if format == "requests" or (format is None and looks_like_requests(files[0])):
        return "requests", read_requests(files)
    first = read_json_file(files[0])
    chosen = format or detect(first.document)
    if chosen is None:
        raise InvalidInput(
            f"{files[0]}: in none of the formats {', '.join(FORMATS)} (their shapes are in docs/use/evaluate.md)"
        )
    return chosen, _READERS[chosen](chain([first], map(read_json_file, files[1:])))


def _files(path: Path) -> list[Path]:
    """`path` itself or, for a folder, its `.json` files or else its `.jsonl` files, sorted."""
    found = [path] if path.is_file() else sorted(path.glob("*.json")) or sorted(path.glob("*.jsonl"))
    if not found:
        raise InvalidInput(f"{path}: no .json or .jsonl file in this folder")
    return found
