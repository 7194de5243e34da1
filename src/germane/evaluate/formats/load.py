"""Load: labelled conversations from a file or a folder, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from germane.errors import InvalidInput, UnknownName
from germane.evaluate.dataset import Dataset
from germane.evaluate.formats.beam import chats, read_beam
from germane.evaluate.formats.detect import detect
from germane.evaluate.formats.draft import Draft
from germane.evaluate.formats.file import File, opened
from germane.evaluate.formats.locomo import read_locomo

__all__ = ["FORMATS", "load"]

FORMATS = ("locomo", "beam")


def load(path: Path, *, format: str | None = None) -> Dataset:
    """The data set at `path`; its format is told by its shape where none is given. What is broken is normalised or dropped,
    and said. Raises `InvalidInput` where nothing can be read, `UnknownName` for a format that isn't one of `FORMATS`."""
    if format is not None and format not in FORMATS:
        raise UnknownName(f"unknown format {format!r}: give one of {', '.join(FORMATS)}")
    if not path.exists():
        raise InvalidInput(f"{path}: no such file or folder")
    chosen, drafts = _drafts(path, format)
    conversations, dropped = [], []
    for draft in drafts:
        conversations.append(draft.done())
        dropped += draft.dropped
    if not any(conversation.questions for conversation in conversations):
        first = f" (the first reason: {dropped[0].where}: {dropped[0].reason})" if dropped else ""
        raise InvalidInput(f"{path}: no question in it names a message that holds its answer{first}")
    return Dataset(name=path.stem, format=chosen, conversations=conversations, dropped=dropped)


def _drafts(path: Path, format: str | None) -> tuple[str, Iterator[Draft]]:
    if format == "beam" or (format is None and chats(path)):
        return "beam", read_beam(path)
    files = _files(path)
    chosen = format or detect(files[0].document)
    if chosen == "locomo":
        return chosen, read_locomo(files)
    raise InvalidInput(f"{path}: in none of the formats {', '.join(FORMATS)}: name its format, or see docs/evaluate.md")


def _files(path: Path) -> list[File]:
    found = sorted(path.glob("*.json")) if path.is_dir() else [path]
    if not found:
        raise InvalidInput(f"{path}: no .json file in this folder")
    return [opened(each) for each in found]
