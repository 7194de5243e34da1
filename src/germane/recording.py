"""Recording: a conversation on its way into the store. A short one is one plan, written as a whole or not at all. A long one
goes in slices: it is read, analysed and written bit by bit, so that neither the event loop nor the store's writer is kept from
others for long.

Between the slices of a long one others may write to the same session. That is seen by its next position; what is left is then
compared with the session once more. Each slice is durable by itself: a recording that was interrupted is completed by the same
call sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from germane.conversation import look, recordable
from germane.dialects.registry import parse_all
from germane.events.appending import Origin, append, ends, known
from germane.events.event import EventHead
from germane.events.record import Recorded, agree, distinct, reach, record
from germane.events.resent import resent
from germane.events.turn import Turn
from germane.extent import Extent
from germane.inject.recognise import without_injected
from germane.limits import CHARACTERS
from germane.message import Message
from germane.ports.journal import Journal
from germane.search.unit import analysed

__all__ = ["Recording"]

_MANY = 128
"""Messages of one slice at most: about 20 ms of the writer."""
_LARGE = 65_536
"""Characters of one slice, at most where it has several messages; likewise."""
_PAGE = 2000
"""Stored messages that are read at once, to tell which the session holds: about 5 ms of the writer."""
_TRIES = 8
"""How often what is left is compared with a session that others write to; then it is appended wherever the session ends."""

Raw = Mapping[str, Any] | Message


class Recording:
    """One call of `record`. `nonces` mark what germane itself injected, which isn't kept. `aside` has one thread: long texts
    are analysed in it, one after another, so that several long recordings take turns; `breath` is called between its steps."""

    def __init__(
        self,
        journal: Journal,
        origin: Origin,
        *,
        now: datetime,
        nonces: Sequence[str],
        aside: Executor,
        breath: Callable[[], None],
    ) -> None:
        self._journal, self._origin, self._now = journal, origin, now
        self._nonces, self._aside, self._breath = nonces, aside, breath

    async def keep(self, raws: Sequence[Raw]) -> Recorded:
        """Raises `Conflict` and `InvalidInput`, before anything is written."""
        kept = await self._read(raws)
        given: Sequence[Mapping[str, Any] | None] | None = None
        if len(kept) == len(raws):
            given = [raw if isinstance(raw, Mapping) else None for raw in raws]
        if len(kept) <= _MANY and sum(_size(message) for message in kept) <= _LARGE:
            return await self._journal.commit(record(kept, origin=self._origin, now=self._now, raws=given))
        return await self._in_slices(kept, given)

    async def _read(self, raws: Sequence[Raw]) -> list[Message]:
        """The messages, without what germane itself injected."""
        messages: list[Message] = []
        extent, zone = Extent("messages", CHARACTERS), self._origin.scope.zone
        for start in range(0, len(raws), _MANY):
            given = raws[start : start + _MANY]
            look(given, extent, first=start)
            part = parse_all(given, "openai", first=start)
            recordable(part, zone, first=start)
            for nonce in self._nonces:
                part = without_injected(part, nonce)
            messages += part
            if start:
                await asyncio.sleep(0)
        return messages

    async def _in_slices(self, kept: list[Message], raws: Sequence[Mapping[str, Any] | None] | None) -> Recorded:
        turns = await self._turns(kept, raws)
        held, length = await self._held(turns)
        new = [place for place in range(len(turns)) if place not in held]
        added: list[str] = []
        tries = at = 0
        while at < len(new):
            part = [turns[place] for place in new[at : at + _MANY]]
            part = part[: _fitting([len(turn.text) for turn in part])]
            part = await self._off_the_loop(partial(_analysed, part, self._breath))
            expected = length if tries < _TRIES else None
            ids = await self._journal.commit(append(part, self._origin, now=self._now, first=at, expected=expected))
            if ids is None:
                tries += 1
                held, length = await self._held(turns)
                new[at:] = [place for place in new[at:] if place not in held]
                continue
            added += ids
            at, length = at + len(part), length + len(part)
        return Recorded(added=tuple(added), skipped=len(kept) - len(added))

    async def _turns(self, kept: list[Message], raws: Sequence[Mapping[str, Any] | None] | None) -> list[Turn]:
        zone, made = self._origin.scope.zone, list[Turn | None]()
        for part in _runs(kept):
            own = None if raws is None else raws[len(made) : len(made) + len(part)]
            made += await self._off_the_loop(partial(_ready, part, own, zone, self._breath))
        found: list[Turn] = await self._off_the_loop(partial(distinct, made))
        return found

    async def _held(self, turns: Sequence[Turn]) -> tuple[set[int], int]:
        """Which of `turns` the session holds, and its next position."""
        session, commit = self._origin.session, self._journal.commit
        ids = [turn.id for turn in turns if turn.id is not None]
        there: dict[str, EventHead] = {}
        for start in range(0, len(ids), _MANY):
            some: dict[str, EventHead] = await commit(known(session, ids[start : start + _MANY]))
            there |= some
        agree(turns, there)
        held = {place for place, turn in enumerate(turns) if turn.id in there}
        limit = reach(turns, len(there))
        tail, length = await commit(ends(session, min(limit, _PAGE)))
        pages = [tail]
        while tail and (left := limit - sum(map(len, pages))) > 0:
            tail, _ = await commit(ends(session, min(left, _PAGE), tail[0].position))
            pages.append(tail)
        found = [head for page in reversed(pages) for head in page]
        if limit:
            whole = len(found) < limit
            held |= await self._off_the_loop(partial(resent, turns, found, length, whole=whole))
        return held, length

    async def _off_the_loop(self, work: partial[Any]) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._aside, work)


def _ready(
    part: Sequence[Message], raws: Sequence[Mapping[str, Any] | None] | None, zone: str, breath: Callable[[], None]
) -> list[Turn | None]:
    made: list[Turn | None] = []
    for at, message in enumerate(part):
        made.append(Turn.of(message, None if raws is None else raws[at], zone))
        breath()
    return made


def _analysed(turns: Sequence[Turn], breath: Callable[[], None]) -> list[Turn]:
    return [replace(turn, analysis=analysed(turn.text, breath)) for turn in turns]


def _runs(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Slices of bounded number and size; a message that is larger by itself is a slice of its own."""
    start = 0
    while start < len(messages):
        part = messages[start : start + _MANY]
        count = _fitting([_size(message) for message in part])
        yield part[:count]
        start += count


def _fitting(sizes: Sequence[int]) -> int:
    """How many of the first fit into one slice: one at least."""
    total = 0
    for count, size in enumerate(sizes):
        total += size
        if total > _LARGE and count:
            return count
    return len(sizes)


def _size(message: Message) -> int:
    return len(message.content)
