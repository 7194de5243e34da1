"""Handle of events: what one scope did and decided, as `agent.events`: record, list, highlights."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence, Set
from dataclasses import fields
from datetime import datetime
from inspect import isawaitable
from typing import Any

from germane.api.arguments import normalise_filters
from germane.api.contents import check_page
from germane.api.wiring import Parts
from germane.api.workers.threads import by_turns
from germane.errors import InvalidInput
from germane.extraction.archetypes.findings import RecordedEvent
from germane.extraction.archetypes.plans import Before, ExtractedEvent, extract_from, look_back, record_event, window
from germane.extraction.archetypes.value import Archetype
from germane.kinds.events.prepared import prepared_event
from germane.kinds.events.reads import LatestHighlights, ListEvents
from germane.kinds.events.value import Event, EventPage, NewEvent
from germane.kinds.messages.handle import origin_of
from germane.kinds.messages.plans import Origin
from germane.types.candidate import LONG_TEXT, SENSITIVITIES, Sensitivity
from germane.types.checks import check_entries, check_flags, check_optional_text, check_size, check_type, check_whole_number
from germane.types.limits import CHARACTERS, EVENT_TYPE, EVENTS, ID, NAMES, PAGE
from germane.types.nested_data import Extent, bounded
from germane.types.operation import operation
from germane.types.query import Filters
from germane.types.scope import Scope

_SLICE_EVENTS, _SLICE_CHARACTERS = 32, 65_536
"""Events, and characters of their texts, that are handed to the store at once."""
_MAX_SESSIONS = 100
"""Sessions of which highlights are asked for at most."""


class AgentEvents:
    """The events of one scope that aren't messages, in its sessions. `archetype` names the extractors that read them; a call
    may name another one."""

    def __init__(self, parts: Parts, scope: Scope, archetype: Archetype | None = None) -> None:
        self._parts, self._scope, self._archetype = parts, scope, archetype
        self._store = parts.store.within(scope)

    @operation("write", takes={"archetype": str | None})
    async def record(
        self,
        type: str,
        content: str | Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        outcome: str = "",
        task: str | None = None,
        at: datetime | None = None,
        id: str | None = None,
        sensitivity: Sensitivity = "private",
        metadata: Mapping[str, Any] | None = None,
        archetype: str | Archetype | None = None,
    ) -> RecordedEvent:
        """Stores one event, and in the same transaction what the archetype's extractors find in it. `type` is `file_read`,
        `file_write`, `file_edit`, `shell_exec`, `search`, `error`, `decision`, `test`, or any other word; `content` a string or
        a dict; `outcome` a word such as `success` or `failure`; `task` the id of a task (default: the
        current one of the session, if any; '' for none); `at` when it happened (default: now).

        Idempotent by `id`, your own within the session: the same event again is found and not stored. Secrets are treated as in
        messages. An extractor that fails is reported in the result. Raises `InvalidInput`, `Conflict` for an `id` that was
        recorded with other content, and what a hook of the archetype raises."""
        new = NewEvent(
            type=type,
            content=content,
            outcome=outcome,
            task=task,
            at=at,
            id=id,
            sensitivity=sensitivity,
            metadata=metadata or {},
        )
        (recorded,) = await self.record_many([new], session=session, archetype=archetype)
        return recorded

    @operation("write", takes={"events": Sequence[NewEvent], "archetype": str | None})
    async def record_many(
        self,
        events: Sequence[NewEvent | Mapping[str, Any]],
        *,
        session: str | None = None,
        archetype: str | Archetype | None = None,
    ) -> tuple[RecordedEvent, ...]:
        """Stores events, each a `NewEvent` or a dict with the arguments of `record`, and returns what was stored of each, in
        order. Each is a transaction of its own, and up to 32 become durable together: sending an interrupted call again
        completes it, where its events have ids. Raises as `record`, once for the first event that can't be stored; others may
        be stored then."""
        chosen = self._archetype if archetype is None else self._parts.archetypes.find(archetype)
        origin = origin_of(self._scope.within(session), "user", None, self._parts)
        if isinstance(events, str | bytes | Mapping) or not isinstance(events, Sequence):
            raise InvalidInput(f"must be a list of events, not {events.__class__.__name__}", path="events")
        check_size("events", len(events), EVENTS)
        extent = Extent("events", CHARACTERS)

        def checked(one: NewEvent | Mapping[str, Any], index: int) -> NewEvent:
            new = _new(one, index)
            extent.part(f"events[{index}].content", new.content)
            extent.part(f"events[{index}].metadata", new.metadata)
            return new

        given = await by_turns(events, checked)
        return await _Recording(self._parts, self._store.commit, origin, chosen).keep(given)

    @operation("read", fixed={"whole": False})
    async def list(
        self,
        session: str | None = None,
        *,
        types: Sequence[str] | None = None,
        task: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> EventPage:
        """Returns a page of `limit` (1 to 1,000) events, the latest by their time first, of one session or all, of these
        `types`, of one `task`; its `cursor` asks for the next page. Messages aren't among them.
        Without `whole`, long texts are cut to their beginning. Raises `InvalidInput`."""
        check_page(limit, cursor)
        check_flags(whole=whole)
        chosen = _filters(session, types, task, since, until)
        wanted = normalise_filters(chosen, self._store.scope.zone) or chosen
        page = await self._store.ask(ListEvents(wanted, limit=limit, cursor=cursor, whole=whole, typed=True))
        return EventPage(events=page.messages, cursor=page.cursor)

    @operation("read")
    async def highlights(
        self, sessions: int = 5, *, session: str | None = None, task: str | None = None, limit: int = 8
    ) -> tuple[Event, ...]:
        """Returns the events of the `sessions` latest sessions (or of one `session`) that are worth knowing later, at most
        `limit` of each: decisions, errors and what they were resolved with, changes, outcomes, the last message. The latest
        session comes first, and each one's events oldest first. Long texts are cut. Raises `InvalidInput`."""
        check_whole_number("sessions", sessions, low=1, high=_MAX_SESSIONS)
        check_whole_number("limit", limit, low=1, high=PAGE.maximum)
        return await self._store.ask(LatestHighlights(sessions, limit=limit, filters=_filters(session, None, task, None, None)))


class _Recording:
    """One call of `record_many`."""

    def __init__(self, parts: Parts, commit: Any, origin: Origin, archetype: Archetype | None) -> None:
        self._parts, self._commit, self._origin, self._archetype = parts, commit, origin, archetype

    async def keep(self, given: Sequence[NewEvent]) -> tuple[RecordedEvent, ...]:
        recorded, long = list[RecordedEvent](), False
        refused: list[str] = []
        prepared: list[Event | None] = []
        tasked = set[str]()
        now = self._parts.clock.now()
        for index, one in enumerate(given):
            if index and not index % _SLICE_EVENTS:
                await asyncio.sleep(0)
            new, by = (one, "") if self._archetype is None else await call_hooks_before(self._archetype, one)
            if new is not one:
                bounded("content", new.content)
            refused.append(by)
            event = None if by else prepared_event(new, self._origin, now=now, after=index)
            prepared.append(event)
            if event is not None and new.task is None:
                tasked.add(event.id)
        done = 0
        while done < len(prepared):
            part = prepared[done : done + _fitting(prepared[done : done + _SLICE_EVENTS])]
            long = long or any(one is not None and len(one.text) > LONG_TEXT // 4 for one in part)
            stored = iter(await self._slice([one for one in part if one is not None], tasked))
            for by, event in zip(refused[done : done + len(part)], part, strict=True):
                recorded.append(RecordedEvent(event=None, added=False, refused_by=by) if event is None else next(stored))
            done += len(part)
        if (not self._parts.embedder.quick or long) and any(one.added for one in recorded):
            await self._parts.catch_up.settle()
        if self._archetype is not None:
            for outcome in recorded:
                if outcome.added:
                    await call_hooks_after(self._archetype, outcome)
        return tuple(recorded)

    async def _slice(self, events: Sequence[Event], tasked: Set[str]) -> tuple[RecordedEvent, ...]:
        """Records these events; those in `tasked` (ids) belong to the current task."""
        if not events:
            return ()
        extracted = [ExtractedEvent(event) for event in events]
        if self._archetype is not None and self._archetype.extractors:
            until = max(event.created_at for event in events)
            before: Before = await self._commit(look_back(self._origin.session, until))
            placed = [event._replace(task=before.task) if event.id in tasked else event for event in events]
            work = _extracting(self._archetype, placed, before.events)
            small = sum(len(event.text) for event in events) <= _SLICE_CHARACTERS // 8
            extracted = work() if small else await self._parts.background.run(work)
        given = (one._replace(with_task=one.event.id in tasked) for one in extracted)
        plans = (record_event(one, origin=self._origin) for one in given)
        written = await asyncio.gather(*(self._commit(plan) for plan in plans), return_exceptions=True)
        for one in written:
            if isinstance(one, BaseException):
                raise one
        return tuple(one for one in written if not isinstance(one, BaseException))


def _extracting(archetype: Archetype, events: Sequence[Event], known: Sequence[Event]) -> Any:
    def work() -> list[ExtractedEvent]:
        before, extracted = list(known), list[ExtractedEvent]()
        for event in events:
            extracted.append(ExtractedEvent(event, *extract_from(archetype, event, window(event, before))))
            before.append(event)
        return extracted

    return work


def _fitting(events: Sequence[Event | None]) -> int:
    """Returns how many of these events, no more than one slice may have, fit into it: at least one."""
    total = 0
    for count, event in enumerate(events):
        total += 0 if event is None else len(event.text)
        if total > _SLICE_CHARACTERS and count:
            return count
    return min(len(events), _SLICE_EVENTS)


def _new(one: NewEvent | Mapping[str, Any], index: int) -> NewEvent:
    if isinstance(one, NewEvent):
        return one
    check_type(f"events[{index}]", one, Mapping, "a NewEvent or a dict")
    known = {field.name for field in fields(NewEvent)}
    if strangers := sorted(str(name)[:40] for name in one if name not in known):
        raise InvalidInput(
            "has no {}", strangers[0], path=f"events[{index}]", advice=f"its fields are {', '.join(sorted(known))}"
        )
    if "type" not in one:
        raise InvalidInput("lacks its type", path=f"events[{index}]")
    try:
        return NewEvent(**one)
    except InvalidInput as error:
        raise error.within(f"events[{index}]") from error


def _filters(
    session: str | None, types: Sequence[str] | None, task: str | None, since: datetime | None, until: datetime | None
) -> Filters:
    check_optional_text("session", session, ID)
    check_optional_text("task", task, ID)
    chosen = None if types is None else check_entries("types", types, NAMES, EVENT_TYPE)
    return Filters(session=session, event_types=chosen, task=task, since=since, until=until, sensitivities=SENSITIVITIES)


# An archetype's functions, called before and after an event is stored: plain ones and coroutine functions.


HOOK_SECONDS = 5.0
"""How long one hook may be waited for. A plain function is called on the event loop, and nothing can end it."""
_LOG = logging.getLogger("germane.archetypes")


async def call_hooks_before(archetype: Archetype, new: NewEvent) -> tuple[NewEvent, str]:
    """Returns the event as the hooks before it leave it, and the name of the hook that refused it, else ''. Raises what a hook
    raises: a hook may be what keeps something out of the store, so that nothing passes one that fails. Raises `TimeoutError`
    after five seconds, and `InvalidInput` where a hook returns anything else than an event or None."""
    for hook in archetype.before:
        given: Any = hook(new)
        if isawaitable(given):
            given = await _within(given)
        if given is None:
            return new, _name(hook)
        if not isinstance(given, NewEvent):
            raise InvalidInput(
                f"hook {_name(hook)} returned {type(given).__name__}: it must return the event, or None to refuse it"
            )
        new = given
    return new, ""


async def call_hooks_after(archetype: Archetype, recorded: RecordedEvent) -> None:
    """Calls the hooks after it. A hook that fails, or takes more than five seconds, is logged by its name, without what the
    event says. Raises nothing but cancellation."""
    for hook in archetype.after:
        try:
            given = hook(recorded)
            if isawaitable(given):
                await _within(given)
        except Exception as error:  # the event is stored, whatever a hook does
            _LOG.warning("hook %s of archetype %s failed: %s", _name(hook), archetype.name[:80], type(error).__name__)


async def _within(given: Awaitable[Any]) -> Any:
    async with asyncio.timeout(HOOK_SECONDS):
        return await given


def _name(hook: object) -> str:
    return str(getattr(hook, "__qualname__", type(hook).__name__))[:80]
