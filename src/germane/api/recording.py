"""Recording: a conversation on its way into the store. A short one is one plan, written as a whole or not at all. A long one
goes in slices: it is read, analysed and written bit by bit, so that neither the event loop nor the store's writer is kept from
others for long.

Between the slices of a long one others may write to the same session. That is seen by its next position; what is left is then
compared with the session once more. Each slice is durable by itself: a recording that was interrupted is completed by the same
call sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from germane.api.conversation import look, recordable
from germane.dialects.registry import parse_all
from germane.events.appending import Origin, append, find_by_message_id, read_tail
from germane.events.event import EventHead
from germane.events.prepared_message import PreparedMessage
from germane.events.record import Recorded, check_conflicts, record, tail_length, without_repeats
from germane.events.resent import resent
from germane.pipeline.background import Background
from germane.pipeline.inject.recognise import without_injected
from germane.ports.journal import Journal
from germane.search.unit import analysed
from germane.types.extent import Extent
from germane.types.limits import CHARACTERS
from germane.types.message import Message
from germane.types.plan import Plan

__all__ = ["Recording"]

_MANY = 128
"""Messages that are read at once, and that a call may have to be written as a whole: about 20 ms of the writer."""
_LARGE = 65_536
"""Characters likewise; a message that is longer by itself is a slice of its own."""
_WRITTEN = 32
"""Messages that are written at once: about 5 ms of the writer."""
_PAGE = 2000
"""Stored messages that are read at once, to tell which the session holds: about 5 ms of the writer."""
_TRIES = 8
"""How often in a row what is left is compared with a session that others write to; then it is appended where the session
ends."""

Raw = Mapping[str, Any] | Message
Slice = tuple[Sequence[Message], Sequence[Mapping[str, Any] | None] | None]
T = TypeVar("T")


class Recording:
    """One call of `record`. `nonces` mark what germane itself injected, which isn't kept."""

    def __init__(
        self, journal: Journal, origin: Origin, *, now: datetime, nonces: Sequence[str], background: Background
    ) -> None:
        self._journal, self._origin, self._now = journal, origin, now
        self._nonces, self._background = nonces, background

    async def keep(self, raws: Sequence[Raw]) -> Recorded:
        """Reads `raws` slice by slice, each message once. Raises `Conflict` and `InvalidInput`, before anything is written."""
        slices = self._read(raws)
        if len(raws) <= _MANY:
            kept, given = next(slices, ((), None))
            if sum(len(message.content) for message in kept) <= _LARGE:
                return await self._journal.commit(record(kept, origin=self._origin, now=self._now, raws=given))
            slices = iter([(kept, given)])
        scope = self._origin.scope
        async with self._background.alone((scope.org, scope.agent, scope.user, self._origin.session)):
            return await self._in_slices(slices)

    def _read(self, raws: Sequence[Raw]) -> Iterator[Slice]:
        """Slice by slice, when it is asked for: the messages without what germane itself injected, and the callers' own dicts
        where each is one of them."""
        extent = Extent("messages", CHARACTERS)
        for first in range(0, len(raws), _MANY):
            some = raws[first : first + _MANY]
            look(some, extent, first=first)
            part = parse_all(some, "openai", first=first)
            recordable(part, self._origin.scope.zone, first=first)
            for nonce in self._nonces:
                part = without_injected(part, nonce)
            yield part, [raw if isinstance(raw, Mapping) else None for raw in some] if len(part) == len(some) else None

    async def _in_slices(self, slices: Iterator[Slice]) -> Recorded:
        turns, kept = await self._background.run(partial(self._turns, slices))
        held, length = await self._held(turns)
        new = await self._background.run(partial(_without, range(len(turns)), held))
        added: list[str] = []
        tries = at = 0
        while at < len(new):
            part = [turns[place] for place in new[at : at + _WRITTEN]]
            part = part[: _fitting([len(turn.text) for turn in part])]
            part = await self._background.run(partial(_analysed, part, self._background.breath))
            expected = length if tries < _TRIES else None
            ids = await self._commit(append(part, self._origin, now=self._now, first=at, expected=expected))
            if ids is None:
                tries += 1
                held, length = await self._held(turns)
                new[at:] = _without(new[at:], held)
                continue
            added += ids
            tries = 0
            at, length = at + len(part), length + len(part)
        return Recorded(added=tuple(added), skipped=kept - len(added))

    def _turns(self, slices: Iterator[Slice]) -> tuple[list[PreparedMessage], int]:
        """All that is to be kept, each id once, and how many messages there were; in the background's thread. Nothing but the
        turns outlives its slice: the garbage collector's walks take as long as there are objects."""
        made, count = list[PreparedMessage | None](), 0
        for part, given in slices:
            count += len(part)
            for at, message in enumerate(part):
                made.append(PreparedMessage.of(message, None if given is None else given[at], self._origin.scope.zone))
                self._background.breath()
        return without_repeats(made), count

    async def _held(self, turns: Sequence[PreparedMessage]) -> tuple[set[int], int]:
        """Which of `turns` the session holds, and its next position."""
        session = self._origin.session
        ids = [turn.id for turn in turns if turn.id is not None]
        there: dict[str, EventHead] = {}
        for start in range(0, len(ids), _MANY):
            some: dict[str, EventHead] = await self._commit(find_by_message_id(session, ids[start : start + _MANY]))
            there |= some
        check_conflicts(turns, there)
        held = {place for place, turn in enumerate(turns) if turn.id in there}
        limit = tail_length(turns, len(there))
        tail, length = await self._commit(read_tail(session, min(limit, _PAGE)))
        pages = [tail]
        while tail and (left := limit - sum(map(len, pages))) > 0:
            tail, _ = await self._commit(read_tail(session, min(left, _PAGE), tail[0].position))
            pages.append(tail)
        found = [head for page in reversed(pages) for head in page]
        if limit:
            whole = len(found) < limit
            held |= await self._background.run(partial(resent, turns, found, length, whole=whole))
        return held, length

    async def _commit(self, plan: Plan[T]) -> T:
        async with self._background.step():
            return await self._journal.commit(plan)


def _without(places: Sequence[int], held: set[int]) -> list[int]:
    return [place for place in places if place not in held]


def _analysed(turns: Sequence[PreparedMessage], breath: Callable[[], None]) -> list[PreparedMessage]:
    return [replace(turn, analysis=analysed(turn.text, breath)) for turn in turns]


def _fitting(sizes: Sequence[int]) -> int:
    """How many of the first fit into one slice: one at least."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > _LARGE and count:
            return count
    return len(sizes)
