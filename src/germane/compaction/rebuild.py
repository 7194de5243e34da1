"""Rebuild: the whole conversation again, from what a compaction left and the archive that it wrote to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from germane.compaction.archive import Archive, ArchiveEntry
from germane.compaction.message_json import from_json
from germane.compaction.wording import HeldSummary, held_summary, masked_handle
from germane.dialects.registry import dialect, parse
from germane.errors import InvalidInput
from germane.types.message import Message, Raw

__all__ = ["rebuild"]


def rebuild(messages: Sequence[Raw], archive: Archive, *, provider: str = "openai") -> list[Raw]:
    """Returns the messages with each summary replaced by the messages that it stands for, and each masked output by the output.
    What the archive doesn't have stays as it is. A message that has stayed is without the thinking that Anthropic had bound to
    what stood before it. Raises what the archive raises."""
    dialect(provider)
    return list(_Rebuilding(archive, provider).whole(list(messages)))


class _Rebuilding:
    def __init__(self, archive: Archive, provider: str) -> None:
        self._archive, self._provider = archive, provider
        self._within: set[str] = set()
        """The handles that are being expanded, so that none is expanded inside itself."""

    def whole(self, messages: Sequence[Raw]) -> Iterator[Raw]:
        skipped = 0
        for index, raw in enumerate(messages):
            if skipped:
                skipped -= 1
                continue
            message = self._read(raw)
            held = None if message is None else held_summary(message)
            earlier = None if held is None or message is None else self._earlier(held)
            if earlier is None or held is None or message is None:
                yield self._unmasked(raw, message)
                continue
            yield from earlier
            rest = message.parts[1:]
            if rest:
                yield Message(role=message.role, parts=rest)
            skipped = min(held.kept, len(messages) - index - 1)

    def _read(self, raw: Raw) -> Message | None:
        try:
            return parse(raw, self._provider)
        except InvalidInput:
            return None

    def _earlier(self, held: HeldSummary) -> list[Raw] | None:
        """The messages of all spans that the summary names; None where one is missing."""
        spans: list[ArchiveEntry] = []
        handle, seen = held.handle, set(self._within)
        while handle:
            entry = None if handle in seen else self._archive.get(handle)
            if entry is None or entry.kind != "span":
                return None
            seen.add(handle)
            spans.append(entry)
            handle = entry.previous
        if not spans:
            return None
        outside, self._within = self._within, seen
        try:
            return [raw for entry in reversed(spans) for raw in self.whole([*map(from_json, entry.messages)])]
        finally:
            self._within = outside

    def _unmasked(self, raw: Raw, message: Message | None) -> Raw:
        """The message as it was before any of its outputs was masked."""
        for result in () if message is None else message.tool_results:
            handle = masked_handle(result.text)
            entry = self._archive.get(handle) if handle and handle not in self._within else None
            if entry is None or entry.kind != "output" or len(entry.messages) != 1:
                continue
            self._within.add(entry.handle)
            try:
                found = from_json(entry.messages[0])
                return self._unmasked(found, self._read(found))
            finally:
                self._within.discard(entry.handle)
        return raw
