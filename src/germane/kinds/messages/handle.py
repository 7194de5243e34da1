"""Handle of messages: one call of `record`, from the caller's messages to the store; long conversations in slices.

A short conversation is one plan, written as a whole or not at all. A long one is read, analysed and written slice by slice, so
that neither the event loop nor the store's writer is blocked for long. Between two slices other calls may write to the same
session. Its next position tells that; the messages that are left are then compared with the session again. Each slice is
durable by itself: sending an interrupted call again completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count as count_from
from itertools import islice
from typing import Any, TypeVar, get_args

from germane.api.arguments import as_dicts, check_message_list, check_messages, check_recordable
from germane.api.wiring import Parts
from germane.clock import aware
from germane.dialects.edits import authored, authored_dict
from germane.dialects.framework_messages import joined_messages
from germane.dialects.registry import parse_all
from germane.errors import InvalidInput
from germane.extraction.archetypes.plans import message_noting
from germane.extraction.archetypes.value import Archetype
from germane.extraction.messages import found_in, telling_in
from germane.kinds.conversations.aliases import unless_forgotten
from germane.kinds.documents.value import is_document_session
from germane.kinds.events.value import EventHead, Recorded
from germane.kinds.messages.alignment import Resent, find_resent
from germane.kinds.messages.plans import (
    Origin,
    append_messages,
    check_conflicts,
    find_by_message_id,
    read_tail,
    record,
    retry_time,
    tail_length,
    without_repeats,
)
from germane.kinds.messages.prepared import PreparedMessage, counted_secrets, screened_message
from germane.ports.background import Background
from germane.search.unit import analyse_parts
from germane.stores.contract import ScopedStore
from germane.text.secrets.detection import refuse_in_name
from germane.types.candidate import LONG_TEXT, SourceKind
from germane.types.checks import check_moment, check_one_of, check_optional_text
from germane.types.limits import CHARACTERS, NAME, RECORDED
from germane.types.message import Message, Raw
from germane.types.nested_data import Extent
from germane.types.plan import Plan
from germane.types.scope import Scope

_SLICE_MESSAGES = 128
"""Messages of a slice, and of the longest call that is written as a whole: about 20 ms of the writer."""
_SLICE_CHARACTERS = 65_536
"""Characters likewise. A longer message is a slice of its own."""
_TRANSACTION_MESSAGES = 32
"""Messages written in one transaction: about 5 ms of the writer."""
_PAGE = 2000
"""Stored messages that are read in one transaction, to tell which ones the session holds: about 5 ms of the writer."""
_MAX_TRIES = 8
"""How often in a row the rest is compared with a session that other calls write to. After that it is appended at the end."""

_SOURCE_KINDS: tuple[SourceKind, ...] = get_args(SourceKind)

Slice = tuple[Sequence[Message], Sequence[Mapping[str, Any] | None]]
T = TypeVar("T")


async def record_messages(
    parts: Parts,
    scope: Scope,
    messages: Sequence[Raw],
    source_kind: str,
    channel: str | None,
    archetype: Archetype | None,
    said_at: datetime | None = None,
) -> Recorded:
    """See `Agent.record`. `scope` names the session. Raises `ForgottenMeanwhile`."""
    origin = origin_of(scope, source_kind, channel, parts, archetype)
    check_message_list(messages, RECORDED)
    said = None if said_at is None else aware(check_moment("said_at", said_at), scope.zone, "said_at")
    recording = Recording(parts.store.within(scope), origin, now=parts.clock.now(), background=parts.background, said_at=said)
    outcome = await recording.keep(messages)
    # A slow embedder makes its vectors after the commit, and so does every embedder for the parts of very long texts.
    if outcome.added and (recording.long or not parts.embedder.quick):
        await parts.catch_up.settle()
    return outcome


def origin_of(scope: Scope, source_kind: str, channel: str | None, parts: Parts, archetype: Archetype | None = None) -> Origin:
    """Where the messages of one call come from. Raises `InvalidInput` for a scope without a session, and for an argument of
    `record` that can't be used."""
    if scope.session is None:
        raise InvalidInput("must be the name of the conversation that is recorded, not None", path="session")
    check_optional_text("channel", channel, NAME)
    if is_document_session(scope.session):
        raise InvalidInput(
            "begins with 'document:', as those of documents do", path="session", advice="use agent.documents.ingest"
        )
    refuse_in_name(parts.secrets, "the session's name", scope.session)
    return Origin(
        scope=scope,
        session=scope.session,
        source_kind=check_one_of("source_kind", source_kind, _SOURCE_KINDS),
        channel=channel,
        secrets=parts.secrets,
        extraction=parts.extraction,
        noting=message_noting(archetype, entities=parts.entities),
    )


class Recording:
    """One call of `record`. What germane injected isn't stored. `said_at` is when it was said, for one that had to wait: where
    the session or its owner was forgotten since, `ForgottenMeanwhile` is raised and nothing more is written."""

    def __init__(
        self,
        store: ScopedStore,
        origin: Origin,
        *,
        now: datetime,
        background: Background,
        said_at: datetime | None = None,
    ) -> None:
        self._store, self._origin, self._now, self._background = store, origin, now, background
        self._said_at = said_at
        self.long = False
        """Whether a message is so long that it is divided, and that its parts may be left without vectors."""

    async def keep(self, raws: Sequence[Raw]) -> Recorded:
        """Stores the messages, each once. Raises `InvalidInput` and `Conflict`, before anything is written."""
        slices = self._read(raws)
        if len(raws) <= _SLICE_MESSAGES:
            parts = [*slices]  # more than one where a framework's message holds many
            kept, given = parts[0] if parts else ((), ())
            if len(parts) < 2 and sum(len(message.content) for message in kept) <= _SLICE_CHARACTERS:
                return await self._store.commit(self._guarded(record(kept, origin=self._origin, now=self._now, raws=given)))
            slices = iter(parts)
        scope = self._origin.scope
        async with self._background.alone((scope.org, scope.agent, scope.user, self._origin.session)):
            return await self._in_slices(slices)

    def _read(self, raws: Sequence[Raw]) -> Iterator[Slice]:
        """Yields slices: the messages without what germane injected, and the caller's own dicts where each message is one of
        them. Pieces of one message are joined, also where a slice ends between them."""
        first = 0
        given = joined_messages(_looked(raws))
        while slice := list(islice(given, _SLICE_MESSAGES)):
            messages = parse_all(slice, "openai", first=first)
            check_recordable(messages, self._origin.scope.zone, first=first)
            if self._said_at is not None:
                messages = _timed(messages, self._said_at, first)
            said = [_said(*pair) for pair in zip(messages, slice, strict=True)]
            self.long = self.long or any(len(message.content) > LONG_TEXT // 4 for message, _ in said)
            yield [message for message, _ in said], [own for _, own in said]
            first += len(slice)

    async def _in_slices(self, slices: Iterator[Slice]) -> Recorded:
        prepared, kept = await self._background.run(partial(self._prepared, slices))
        found, length = await self._held(prepared)
        new = await self._background.run(partial(_without, range(len(prepared)), found.held))
        await self._background.run(partial(self._screen, prepared, new))
        added: dict[int, str] = {}
        extracted: list[str] = []
        tries = done = 0
        while done < len(new):
            part = [prepared[index] for index in new[done : done + _TRANSACTION_MESSAGES]]
            part = part[: _fitting([len(message.text) for message in part])]
            part = await self._background.run(
                partial(_analysed, part, self._background.breath, extraction=self._origin.extraction)
            )
            expected = length if tries < _MAX_TRIES else None
            written = await self._commit(append_messages(part, self._origin, now=self._now, first=done, expected=expected))
            if written is None:
                tries += 1
                found, length = await self._held(prepared)
                new[done:] = _without(new[done:], found.held)
                continue
            added |= zip(new[done:], written[0], strict=False)
            extracted += written[1]
            tries = 0
            done, length = done + len(part), length + len(part)
        return Recorded(
            added=tuple(added.values()),
            skipped=kept - len(added),
            secrets=counted_secrets(prepared[index] for index in new),
            extracted=tuple(extracted),
            assumed_resent=len(found.assumed_resent - added.keys()),
            assumed_new=tuple(id for index, id in added.items() if index in found.assumed_new),
        )

    def _prepared(self, slices: Iterator[Slice]) -> tuple[list[PreparedMessage], int]:
        """Returns the prepared messages, each id once, and how many messages there were. Runs in the background's thread. Only
        the prepared messages outlive their slice: the garbage collector's walks grow with the number of objects."""
        made, count = list[PreparedMessage | None](), 0
        for first, (part, given) in zip(count_from(0, _SLICE_MESSAGES), slices, strict=False):
            count += len(part)
            for index, message in enumerate(part):
                made.append(PreparedMessage.of(message, given[index], self._origin.scope.zone, first + index))
                self._background.breath()
        return without_repeats(made), count

    def _screen(self, prepared: list[PreparedMessage], new: Sequence[int]) -> None:
        """Applies the policy on secrets to the new messages, in place, before any of them is written. Runs in the background's
        thread."""
        for index in new:
            prepared[index] = screened_message(prepared[index], self._origin.secrets, self._background.breath)
            self._background.breath()

    async def _held(self, prepared: Sequence[PreparedMessage]) -> tuple[Resent, int]:
        """Returns which messages the session holds already, and the session's next position."""
        session = self._origin.session
        ids = [message.id for message in prepared if message.id is not None]
        stored: dict[str, EventHead] = {}
        for start in range(0, len(ids), _SLICE_MESSAGES):
            page: dict[str, EventHead] = await self._commit(find_by_message_id(session, ids[start : start + _SLICE_MESSAGES]))
            stored |= page
        check_conflicts(prepared, stored)
        known = {index for index, message in enumerate(prepared) if message.id in stored}
        found = Resent()
        limit = tail_length(prepared, len(stored))
        tail, length = await self._commit(read_tail(session, min(limit, _PAGE)))
        pages = [tail]
        while tail and (left := limit - sum(map(len, pages))) > 0:
            tail, _ = await self._commit(read_tail(session, min(left, _PAGE), tail[0].position))
            pages.append(tail)
        heads = [head for page in reversed(pages) for head in page]
        if limit:
            retry = retry_time(self._origin)
            compare = partial(find_resent, prepared, heads, length, whole=len(heads) < limit, now=self._now, retry=retry)
            found = await self._background.run(compare)
        return replace(found, held=found.held | known), length

    async def _commit(self, plan: Plan[T]) -> T:
        async with self._background.step():
            return await self._store.commit(self._guarded(plan))

    def _guarded(self, plan: Plan[T]) -> Plan[T]:
        return plan if self._said_at is None else unless_forgotten(plan, self._origin.session, self._said_at)


def _looked(raws: Sequence[Raw]) -> Iterator[Raw]:
    """Yields the messages, checked by size and shape, each taken once."""
    extent = Extent("messages", CHARACTERS)
    for first in range(0, len(raws), _SLICE_MESSAGES):
        yield from check_messages([*as_dicts(raws[first : first + _SLICE_MESSAGES], first=first)], extent, first=first)


def _timed(messages: Iterable[Message], said_at: datetime, first: int) -> tuple[Message, ...]:
    """The messages, those without a time with one of their own each. `first` is the index of the first one."""
    return tuple(
        message if message.created_at is not None else replace(message, created_at=said_at + timedelta(microseconds=index))
        for index, message in enumerate(messages, first)
    )


def _said(message: Message, raw: Raw) -> tuple[Message, Mapping[str, Any] | None]:
    """The message and the caller's dict, both without what germane injected. A message of germane's alone is left empty, and so
    isn't stored; the others keep their places."""
    kept, own = authored(message), raw if isinstance(raw, Mapping) else None
    if kept is None:
        return replace(message, parts=()), None
    return kept, own if own is None or kept is message else authored_dict(own, message.role)


def _without(indexes: Sequence[int], held: Set[int]) -> list[int]:
    return [index for index in indexes if index not in held]


def _analysed(prepared: Sequence[PreparedMessage], breath: Callable[[], None], *, extraction: bool) -> list[PreparedMessage]:
    analysed = (
        replace(message, analysis=analyse_parts(message.text, breath), telling=telling_in(message)) for message in prepared
    )
    return [replace(message, found=found_in(message)) if extraction else message for message in analysed]


def _fitting(sizes: Sequence[int]) -> int:
    """Returns how many of the first messages fit into one slice, at least one."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > _SLICE_CHARACTERS and count:
            return count
    return len(sizes)
