"""Archive: where the messages go that a compaction takes out of the prompt, each under a handle that brings them back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

__all__ = ["Archive", "ArchiveEntry", "EntryKind", "handle_of"]

EntryKind = Literal["output", "span"]
_DIGITS = 12
_MARK = '"cache_control"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """What was taken out of a conversation. An `output` is the message that holds one masked result, whose number among the
    message's results is `part`; a `span` holds whole messages. `messages` are JSON: the provider's own dicts. `previous` is the
    handle of the span before this one, "" for the first."""

    handle: str
    kind: EntryKind
    provider: str
    title: str
    messages: tuple[Mapping[str, Any], ...]
    previous: str = ""
    part: int = 0


def handle_of(kind: EntryKind, messages: Sequence[Mapping[str, Any]], previous: str = "", part: int = 0) -> str:
    """Returns the handle: `h` and 12 hexadecimal digits of the SHA-256 of the content, so that the same content always has the
    same handle, and an entry can be written twice without harm. Anthropic's cache marks aren't content: callers move them."""
    written = _as_text([kind, previous, part, *messages])
    if _MARK in written:
        written = _as_text([kind, previous, part, *map(_unmarked, messages)])
    return f"h{hashlib.sha256(written.encode()).hexdigest()[:_DIGITS]}"


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)


def _unmarked(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the message or block without its cache mark and those of the blocks in it."""
    left = {key: item for key, item in value.items() if key != _MARK.strip('"')}
    if isinstance(blocks := left.get("content"), list):
        left["content"] = [_unmarked(block) if isinstance(block, Mapping) else block for block in blocks]
    return left


class Archive(Protocol):
    """Keeps entries by handle. A handle is written into a prompt only after its entry was read back (HIST-5)."""

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        """Keeps the entries. Idempotent. May raise anything: the compaction then goes on without handles."""

    def get(self, handle: str) -> ArchiveEntry | None:
        """Returns the entry; None where there is none."""
