"""Entries: what a compaction takes out, as entries for an archive, and how they are written to one.

Entries are made when they are asked for: hashing a long conversation takes longer than compacting it. germane's own text
isn't archived: the store has it already (INJECT-5).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from germane.compaction.boundaries import Span
from germane.dialects.edits import authored, authored_dict
from germane.kinds.conversations.messages import as_json
from germane.kinds.conversations.value import Archive, ArchiveEntry, handle_of
from germane.types.message import Message, Raw


class EntryMaker:
    """Makes each entry once. `raws` and `messages`, which are `raws` parsed, may grow; `begun` is the handle of the span before
    the first, "" for none."""

    __slots__ = ("_messages", "_outputs", "_provider", "_raws", "_spans", "begun")

    def __init__(self, raws: Sequence[Raw], messages: Sequence[Message], provider: str) -> None:
        self._raws, self._messages, self._provider = raws, messages, provider
        self._spans: list[tuple[Span, ArchiveEntry]] = []
        self._outputs: dict[tuple[int, int], ArchiveEntry] = {}
        self.begun = ""

    def spans(self, spans: Sequence[Span], first: int) -> list[ArchiveEntry]:
        """Returns an entry for each span that has messages from the index `first` on, each naming the one before."""
        made: list[ArchiveEntry] = []
        previous = self.begun
        for place, span in enumerate(spans):
            if place == len(self._spans) or self._spans[place][0] != span:
                self._spans[place:] = [(span, self._span(span, first, previous))]
            entry = self._spans[place][1]
            if entry.messages:
                previous = entry.handle
                made.append(entry)
        return made

    def output(self, index: int, part: int) -> ArchiveEntry:
        """Returns the entry for one result."""
        entry = self._outputs.get((index, part))
        if entry is None:
            messages = (self._kept(index),)
            entry = self._outputs[index, part] = ArchiveEntry(
                handle=handle_of("output", messages, part=part),
                kind="output",
                provider=self._provider,
                title=self._messages[index].tool_results[part].name,
                messages=messages,
                part=part,
            )
        return entry

    def _span(self, span: Span, first: int, previous: str) -> ArchiveEntry:
        messages = tuple(self._kept(index) for index in range(max(span[0], first), span[1]))
        return ArchiveEntry(
            handle=handle_of("span", messages, previous),
            kind="span",
            provider=self._provider,
            title=f"messages {span[0]} to {span[1] - 1}",
            messages=messages,
            previous=previous,
        )

    def _kept(self, index: int) -> Mapping[str, Any]:
        raw, role = self._raws[index], self._messages[index].role
        if isinstance(raw, Message):
            return as_json(authored(raw, quotes=True) or replace(raw, parts=()))
        return authored_dict(as_json(raw), role, quotes=True)


class LazyEntries(Mapping[str, ArchiveEntry]):
    """Entries by handle, in the order in which they were taken out; made at the first look."""

    __slots__ = ("_found", "_make")

    def __init__(self, make: Callable[[], Sequence[ArchiveEntry]]) -> None:
        self._make = make
        self._found: dict[str, ArchiveEntry] | None = None

    def __getitem__(self, handle: str) -> ArchiveEntry:
        return self._made()[handle]

    def __iter__(self) -> Iterator[str]:
        return iter(self._made())

    def __len__(self) -> int:
        return len(self._made())

    def __repr__(self) -> str:
        return "<LazyEntries>" if self._found is None else f"<LazyEntries {len(self._found)}>"

    def _made(self) -> dict[str, ArchiveEntry]:
        if self._found is None:
            self._found = {entry.handle: entry for entry in self._make()}
        return self._found


# Writes entries to an archive and reads them back: only the handle of an entry that was read back may be cited
# (HIST-5).


class ArchiveOutcome(NamedTuple):
    """`handles` are those of the entries that were read back as they were written; `reasons` say why others weren't."""

    handles: frozenset[str]
    reasons: tuple[str, ...] = ()


def archive_entries(archive: Archive, entries: Mapping[str, ArchiveEntry], known: Collection[str] = ()) -> ArchiveOutcome:
    """Writes the entries that aren't `known` and reads them back. Never raises what the archive raises."""
    new = [entry for handle, entry in entries.items() if handle not in known]
    handles = set(entries.keys() & set(known))
    if not new:
        return ArchiveOutcome(frozenset(handles))
    reasons: list[str] = []
    try:
        archive.put(new)
    except Exception as error:
        reasons.append(f"the archive can't be written: {type(error).__name__}")
    lost = 0
    for entry in new:
        try:
            found = archive.get(entry.handle)
        except Exception as error:
            lost += 1
            if len(reasons) < 3:
                reasons.append(f"the archive can't be read: {type(error).__name__}")
            continue
        if is_same_entry(entry, found):
            handles.add(entry.handle)
        else:
            lost += 1
    if lost:
        reasons.append(f"{lost} of {len(new)} archived entries can't be read back: their handles aren't named")
    return ArchiveOutcome(frozenset(handles), tuple(reasons))


def is_same_entry(entry: ArchiveEntry, found: object) -> bool:
    """Returns whether what was read back is the entry that was written, by its content."""
    if found is entry:
        return True
    if not isinstance(found, ArchiveEntry) or (found.handle, found.kind, found.provider, found.part, found.previous) != (
        entry.handle,
        entry.kind,
        entry.provider,
        entry.part,
        entry.previous,
    ):
        return False
    try:
        return handle_of(found.kind, found.messages, found.previous, found.part) == entry.handle
    except (TypeError, ValueError, RecursionError):
        return False
