"""Recording: one call of `record`, from the caller's messages to the store; long conversations in slices.

A short conversation is one plan, written as a whole or not at all. A long one is read, analysed and written slice by slice, so
that neither the event loop nor the store's writer is blocked for long. Between two slices other calls may write to the same
session. Its next position tells that; the messages that are left are then compared with the session again. Each slice is
durable by itself: sending an interrupted call again completes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from germane.api.conversation import look, recordable
from germane.dialects.registry import parse_all
from germane.events.appending import Origin, append, ends, known
from germane.events.event import EventHead
from germane.events.record import Recorded, agree, distinct, reach, record
from germane.events.resent import resent
from germane.events.turn import Turn
from germane.pipeline.background import Background
from germane.pipeline.inject.recognise import without_injected
from germane.ports.journal import Journal
from germane.search.unit import analysed
from germane.types.extent import Extent
from germane.types.limits import CHARACTERS
from germane.types.message import Message
from germane.types.plan import Plan

__all__ = ["Recording"]

_SLICE = 128
"""Messages of a slice, and of the longest call that is written as a whole: about 20 ms of the writer."""
_SLICE_CHARACTERS = 65_536
"""Characters likewise. A longer message is a slice of its own."""
_WRITTEN = 32
"""Messages written in one transaction: about 5 ms of the writer."""
_PAGE = 2000
"""Stored messages that are read in one transaction, to tell which ones the session holds: about 5 ms of the writer."""
_TRIES = 8
"""How often in a row the rest is compared with a session that other calls write to. After that it is appended at the end."""

Raw = Mapping[str, Any] | Message
Slice = tuple[Sequence[Message], Sequence[Mapping[str, Any] | None] | None]
T = TypeVar("T")


class Recording:
    """One call of `record`. `nonces` recognise what germane injected, which isn't stored."""

    def __init__(
        self, journal: Journal, origin: Origin, *, now: datetime, nonces: Sequence[str], background: Background
    ) -> None:
        self._journal, self._origin, self._now = journal, origin, now
        self._nonces, self._background = nonces, background

    async def keep(self, raws: Sequence[Raw]) -> Recorded:
        """Stores the messages, each once. Raises `InvalidInput` and `Conflict`, before anything is written."""
        slices = self._read(raws)
        if len(raws) <= _SLICE:
            kept, given = next(slices, ((), None))
            if sum(len(message.content) for message in kept) <= _SLICE_CHARACTERS:
                return await self._journal.commit(record(kept, origin=self._origin, now=self._now, raws=given))
            slices = iter([(kept, given)])
        scope = self._origin.scope
        async with self._background.alone((scope.org, scope.agent, scope.user, self._origin.session)):
            return await self._in_slices(slices)

    def _read(self, raws: Sequence[Raw]) -> Iterator[Slice]:
        """Yields slices: the messages without what germane injected, and the caller's own dicts where each message is one of
        them."""
        extent = Extent("messages", CHARACTERS)
        for first in range(0, len(raws), _SLICE):
            slice = raws[first : first + _SLICE]
            look(slice, extent, first=first)
            messages = parse_all(slice, "openai", first=first)
            recordable(messages, self._origin.scope.zone, first=first)
            for nonce in self._nonces:
                messages = without_injected(messages, nonce)
            yield (
                messages,
                [raw if isinstance(raw, Mapping) else None for raw in slice] if len(messages) == len(slice) else None,
            )

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

    def _turns(self, slices: Iterator[Slice]) -> tuple[list[Turn], int]:
        """Returns the prepared messages, each id once, and how many messages there were. Runs in the background's thread. Only
        the prepared messages outlive their slice: the garbage collector's walks grow with the number of objects."""
        made, count = list[Turn | None](), 0
        for part, given in slices:
            count += len(part)
            for at, message in enumerate(part):
                made.append(Turn.of(message, None if given is None else given[at], self._origin.scope.zone))
                self._background.breath()
        return distinct(made), count

    async def _held(self, turns: Sequence[Turn]) -> tuple[set[int], int]:
        """Returns the indexes of the messages that the session holds already, and the session's next position."""
        session = self._origin.session
        ids = [turn.id for turn in turns if turn.id is not None]
        there: dict[str, EventHead] = {}
        for start in range(0, len(ids), _SLICE):
            some: dict[str, EventHead] = await self._commit(known(session, ids[start : start + _SLICE]))
            there |= some
        agree(turns, there)
        held = {place for place, turn in enumerate(turns) if turn.id in there}
        limit = reach(turns, len(there))
        tail, length = await self._commit(ends(session, min(limit, _PAGE)))
        pages = [tail]
        while tail and (left := limit - sum(map(len, pages))) > 0:
            tail, _ = await self._commit(ends(session, min(left, _PAGE), tail[0].position))
            pages.append(tail)
        found = [head for page in reversed(pages) for head in page]
        if limit:
            whole = len(found) < limit
            held |= await self._background.run(partial(resent, turns, found, length, whole=whole))
        return held, length

    async def _commit(self, plan: Plan[T]) -> T:
        async with self._background.step():
            return await self._journal.commit(plan)


def _without(indexes: Sequence[int], held: set[int]) -> list[int]:
    return [index for index in indexes if index not in held]


def _analysed(turns: Sequence[Turn], breath: Callable[[], None]) -> list[Turn]:
    return [replace(turn, analysis=analysed(turn.text, breath)) for turn in turns]


def _fitting(sizes: Sequence[int]) -> int:
    """Returns how many of the first messages fit into one slice, at least one."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > _SLICE_CHARACTERS and count:
            return count
    return len(sizes)
