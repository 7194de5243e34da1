"""Compactor: a conversation that grows, compacted again and again; a new message costs the same however long it has become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any

from germane.compaction.archive import Archive
from germane.compaction.archiving import archived
from germane.compaction.compaction import Compaction
from germane.compaction.fold import CompactionFold
from germane.compaction.notebook import Summaries
from germane.compaction.render import render
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.dialects.plain import plain
from germane.errors import InvalidInput
from germane.history.arguments import compactable, one_message
from germane.types.message import Message, Raw

__all__ = ["Compactor"]

_SUMMARISE = Summarise()


@dataclass(frozen=True, slots=True)
class _Added:
    """`said` is the text of a plain message, by which an edit is seen at once."""

    raw: Raw
    message: Message
    said: str | None


class Compactor:
    """Mutable; safe for threads: two that compact at once get the same result.

        compactor = Compactor(model="gpt-4o", max_tokens=16_000)
        compactor.extend(messages)
        compaction = compactor.compact()

    The arguments are those of `compact`. The result is the same as that of `compact` for the same messages."""

    def __init__(
        self,
        *,
        model: str,
        max_tokens: int | None = None,
        provider: str | None = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        strategy: CompactionStrategy = _SUMMARISE,
        archive: Archive | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
    ) -> None:
        given = compactable(
            [],
            model=model,
            max_tokens=max_tokens,
            provider=provider,
            system=system,
            tools=tools,
            strategy=strategy,
            archive=archive,
            low_water=low_water,
            max_messages=max_messages,
        )
        self._terms = given.terms
        self._archive = archive
        self._lock = RLock()
        self._added: list[_Added] = []
        self._kept: frozenset[str] = frozenset()
        """Handles of entries that were read back."""
        self._fold = CompactionFold(self._terms)

    def __len__(self) -> int:
        """The number of messages added."""
        return len(self._added)

    def add(self, message: Raw) -> None:
        """Adds a message at the end. Raises `InvalidInput` for one that can't be read."""
        with self._lock:
            raw, read = one_message(message, self._terms.measure.provider, len(self._added))
            self._added.append(_added(raw, read))
            self._fold.add(raw, read)

    def extend(self, messages: Iterable[Raw]) -> None:
        """Adds messages at the end. Raises `InvalidInput` for the first that can't be read; those before it were added."""
        with self._lock:
            for message in messages:
                self.add(message)

    def compact(self, messages: Sequence[Raw] | None = None, *, summaries: Summaries = ()) -> Compaction:
        """Returns the conversation as it fits. With `messages`, the whole conversation as it is now, what is new is added, and
        where a message isn't what it was when it was added, the work starts again from there: edits and deletions are seen.
        What stays is of the newest `messages`, with their cache marks."""
        with self._lock:
            if messages is not None:
                self._follow(messages)
            plan = self._fold.plan(summaries)
            if self._archive is None or not plan.entries:
                return render(plan)
            kept = archived(self._archive, plan.entries, self._kept)
            self._kept |= kept.handles
            return render(plan, kept.handles, kept.reasons)

    def _follow(self, messages: Sequence[Raw]) -> None:
        """Makes the conversation be `messages`."""
        if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
            raise InvalidInput(f"messages must be a list of messages, not {type(messages).__name__}")
        renewed: list[_Added] = []
        for known, raw in zip(self._added, messages, strict=False):
            if (again := self._again(known, raw, len(renewed))) is None:
                break
            renewed.append(again)
        same = len(renewed)
        if same < len(self._added):
            self._added, self._fold = renewed, CompactionFold(self._terms)
            for known in self._added:
                self._fold.add(known.raw, known.message)
        else:
            self._added = renewed
            self._fold.renew([known.raw for known in renewed])
        for raw in messages[same:]:
            self.add(raw)

    def _again(self, known: _Added, raw: Raw, index: int) -> _Added | None:
        """The message in its newest object, in which what isn't read may differ; None where it isn't the same message."""
        if known.said is not None and isinstance(raw, dict) and plain(raw):
            if raw["content"] != known.said or raw["role"] != known.message.role:
                return None
            return known if raw is known.raw else replace(known, raw=raw)
        try:
            seen, read = one_message(raw, self._terms.measure.provider, index)
        except InvalidInput:
            return None
        return _added(seen, known.message) if read == known.message else None


def _added(raw: Raw, message: Message) -> _Added:
    return _Added(raw, message, raw["content"] if isinstance(raw, dict) and plain(raw) else None)
