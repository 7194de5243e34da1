"""Message sources: messages by query, the latest ones, those of the session, and those of days asked about.

Four questions, four sources beside the search: `recent` and `history` offer the latest turns; `continuity` offers the
session's last exchange if the request lacks it altogether ("make it shorter", AMOUNT-4); `days` offers the messages of the
days that a request asks about, whatever their words (PERSON-5).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import partial
from heapq import nlargest, nsmallest
from typing import ClassVar, NamedTuple

from germane.clock import zone
from germane.kinds.events.reads import ListEvents, RecentEvents
from germane.kinds.events.value import Event
from germane.stages.gather.candidates import from_event, offered, words_of
from germane.stages.gather.merge import RequestContents, fresh
from germane.stages.gather.source import EVERYTHING, EmbeddingSource, SearchDepth, Skipped, Source, SourceNature, SourceParts
from germane.stores.contract import ScopedStore
from germane.text.days.times import named_days
from germane.text.terms import analyse
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence, Unread
from germane.types.query import Anchor, DayAsked, Days, Filters, Query, Term
from germane.types.strategy import SourcePlan

_MEASURED_RESULTS = 10
"""The best results that are looked at to tell whether the request holds them already."""
_HALF_LIFE = 8
"""Turns after which the evidence for being recent has fallen to a half."""


class MessageSource(EmbeddingSource):
    """Messages found by the query, with evidence from their neighbours and their session.

    The search looks as far down as `depth` says; where the query has identifiers or quoted phrases, up to the number of items
    alone, as an exact match of those shows only in a message's text. With `beside_days`, a request for nothing but what was on
    some days is left to the source of those.
    """

    nature: ClassVar = SourceNature(deep=True, offers="found", without={"no_query", "only_days"})

    def __init__(
        self,
        store: ScopedStore,
        said: RequestContents,
        *,
        wait: bool = False,
        depth: SearchDepth = EVERYTHING,
        beside_days: bool = False,
    ) -> None:
        self._store, self._said, self._wait, self._depth, self._beside_days = store, said, wait, depth, beside_days

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        beside_days = any(one.name == "days" and one.limit > 0 for one in parts.strategy.sources)
        return cls(parts.store, parts.said, wait=parts.wait, depth=parts.depth, beside_days=beside_days)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        if not query.searchable:
            raise Skipped("no_query")
        if self._beside_days and query.only_days:
            raise Skipped("only_days")
        query = replace(query, filters=query.of_its_days(query.said_by_then))
        limit = min(plan.limit, self._depth.max_items)
        found = await self._search(self._depth.of_messages(query), limit, plan)
        if any(isinstance(one, Unread) for one in found) and self._mostly_said(found, query):
            found = await self._search(replace(self._depth.of_messages(query), price=0.0), limit, plan)
        return found

    async def _search(self, query: Query, limit: int, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        found = await self._store.events.search(query, limit, keywords=plan.keywords, vectors=plan.vectors, wait=self._wait)
        return offered(found, "messages", query, partial(from_event, at=query.at, words=words_of(query)))

    def _mostly_said(self, found: Sequence[Candidate | Unread], query: Query) -> bool:
        """Whether the best results, by which the others were measured, stand in the request already. Those of the running
        session don't count, as the search knows them."""
        session = self._store.scope.session
        best = [one for one in found if isinstance(one, Candidate) and (session is None or one.session != session)][
            :_MEASURED_RESULTS
        ]
        return 2 * len(fresh(best, self._said, query.filters, session=session)) < len(best)


class RecentSource:
    """The latest messages of the latest sessions, whatever the query."""

    nature: ClassVar = SourceNature(standing=True, offers="recent")

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        events = await self._store.ask(RecentEvents(plan.limit, filters=query.said_by_then, typed=False))
        return [
            from_event(event, "recent", Evidence(recent=0.5 ** (turns / _HALF_LIFE), user=0.0), at=query.at)
            for turns, event in enumerate(events)
        ]


class HistorySource:
    """The latest messages of the running session that are stored, newest with the strongest evidence (GATHER-2a). Messages that
    the request itself holds count as turns too; `merge.fresh` removes them afterwards, as it does for every source."""

    nature: ClassVar = SourceNature(standing=True, offers="recent", without={"no_session"})

    def __init__(self, store: ScopedStore) -> None:
        self._store = store

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session = self._store.scope.session
        if session is None:
            raise Skipped("no_session")
        events = await self._store.ask(RecentEvents(plan.limit, session=session, filters=query.filters, typed=False))
        return [
            from_event(event, "history", Evidence(history=0.5 ** (turns / _HALF_LIFE)), at=query.at)
            for turns, event in enumerate(events)
        ]


# The session's last exchange, for a request that lacks it altogether (AMOUNT-4).


class ContinuitySource:
    """The last exchange of the running session: the newest stored messages back to the last one of the user. They are required,
    so that a reference to them can be understood; the packer shortens long ones. A request that holds any message of the
    exchange needs none of it back."""

    nature: ClassVar = SourceNature(standing=True, offers="recent", without={"no_session"})

    def __init__(self, store: ScopedStore, said: RequestContents) -> None:
        self._store, self._said = store, said

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, parts.said)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        session = self._store.scope.session
        if session is None:
            raise Skipped("no_session")
        asked = RecentEvents(plan.limit + 1, session=session, filters=query.filters, typed=False)
        events = await self._store.ask(asked)
        found = [from_event(event, "continuity", Evidence(), at=query.at) for event in events]
        missing = {one.id for one in fresh(found, self._said, query.filters, session=session)}
        if found and found[0].id not in missing and found[0].role == "user":
            del found[0]  # the turn that is being answered was recorded first
        exchange = list[Candidate]()
        for candidate in found[: plan.limit]:
            exchange.append(candidate)
            if candidate.role == "user":
                break
        if any(candidate.id not in missing for candidate in exchange):
            return []
        return [candidate._replace(required=True) for candidate in exchange]


# The messages of the days that a request asks about (PERSON-5). How strongly each one is asked for depends on what the
# request says besides the days. "What did I say yesterday" wants all that was said then; "what did I say about the
# boiler yesterday" wants what is about the boiler, and the rest only in case the words differ. Days may be named by an
# event ("the night before Grandpa moved in"). Its day is that of the message which a search for its words finds, or the
# day that this message names ("tomorrow").


_MAX_READ, _SPAN_PARTS = 240, 8
"""Messages of a span that are read at most, and the parts of a long span, of each of which the newest are read."""
_MAX_READ_BESIDE = 40
"""Messages read of the day before and of the two days after a day: some tell of it ("tomorrow", "yesterday")."""
_MAX_FOUND, _MIN_BM25 = 24, 0.2
"""Results of the search for an event, and the BM25 that one must reach to be about it."""
_SAYS_WHEN, _CLEAR = 3.0, 0.5
"""How much more a message counts that names the event's day than one that was merely said on some day, and the share of the
votes with which a day is clear."""
_FULL_WORDS = 12
"""Different words from which a message counts as telling as any."""
_ALL, _TOUCHED, _UNTOUCHED, _ANSWER = 0.75, 0.8, 0.7, 0.35
"""The evidence of a message of the day, at least: where the request asks for all that was said; of a message that has a word
of what is asked about; of one that has none; and of an assistant's message, as a share of the user's."""
_TOLD_BESIDE, _GUESSED, _NEAR = 0.7, 0.9, 0.44
"""The shares that remain where the message was said on another day, where an event's day was found by a search, and where
nothing was said on the day that is asked for beside it."""
_DAY, _HOURS, _INSTANT = timedelta(days=1), timedelta(hours=5), timedelta(microseconds=1)
_MAX_DAYS, _MAX_CHARS = 4, 600
"""Days on which an event may have been, and the characters of a message in which the days that it names are looked for."""
_COURTESIES = """
    ok okay okey yes yeah yep no nope thanks thank you very much cheers great good perfect nice cool fine sure got it right
    hi hello hey morning night bye please sorry wow lol haha
    danke vielen dank guten tag ja nein gut super prima alles klar hallo morgen tschüss bitte passt genau
    merci beaucoup oui non d'accord parfait bonjour bonsoir salut au revoir
    gracias muchas sí vale perfecto genial hola buenos días buenas noches adiós claro
    grazie mille sì va bene ciao buongiorno buonasera certo obrigado obrigada sim não tudo bem beleza perfeito olá bom dia
    boa noite tchau bedankt dank je wel nee goed hoi dag dziękuję dzięki tak nie dobrze cześć hej
    спасибо да нет хорошо ладно отлично супер привет пока teşekkürler sağol evet hayır tamam harika merhaba selam
    tack bra okej då
    谢谢 多谢 好的 好 嗯 行 可以 你好 再见 ありがとう はい いいえ 了解 おはよう 감사합니다 고마워 네 아니요 안녕
"""
_COURTESY = frozenset(stem for word in _COURTESIES.split() for stem in (word, *analyse(word)))
"""Stems of thanks, greetings and agreement: a message of nothing else says nothing of a day."""


class _Stretch(NamedTuple):
    """Days whose messages are wanted, the share of the evidence that remains of each, and what was said on and beside them."""

    days: Days
    share: float
    own_events: Sequence[Event]
    beside: Sequence[Event]


class DaySource:
    """The most telling messages of the days that the request asks about: the user's before the assistant's, none that says
    nothing. Nothing where the days have no messages."""

    nature: ClassVar = SourceNature(without={"no_day"})

    def __init__(self, store: ScopedStore, *, wait: bool = False) -> None:
        self._store, self._wait = store, wait

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        return cls(parts.store, wait=parts.wait)

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        asked = query.asked_day
        if asked is None:
            raise Skipped("no_day")
        here = zone(query.zone)
        found = list(await asyncio.gather(*(self._read(days, query, here) for days in asked.days)))
        for anchor in asked.anchors:
            found += await self._beside(anchor, query, here)
        offers = await asyncio.to_thread(_offers, found, asked, here)
        best = nlargest(plan.limit, offers.values(), key=lambda offer: (offer[1].day_asked, offer[0].created_at))
        return [from_event(event, "days", evidence, at=query.at) for event, evidence in best]

    async def _beside(self, anchor: Anchor, query: Query, here: tzinfo) -> list[_Stretch]:
        """The days that the event names, where the store knows the event: of the days on which it may have been, the likeliest
        beside which something was said; failing that, the day itself where it is clear, as people speak of what is near."""
        if not anchor.terms:
            return []
        found = await self._store.events.search(
            _about(anchor, query), _MAX_FOUND, keywords=True, vectors=False, wait=self._wait
        )
        hits = [(hit.thing, hit.evidence.own) for hit in found.hits if hit.evidence.own >= _MIN_BM25]
        likely = await asyncio.to_thread(_days_of, hits, here)
        today = query.at.astimezone(here).date()
        for on, _ in likely:
            with suppress(OverflowError):
                stretch = await self._read(anchor.days(on), query, here, share=_GUESSED)
                if stretch.own_events and stretch.days.first <= today:
                    return [stretch]
        clear = [on for on, vote in likely[:1] if vote >= _CLEAR]
        return [await self._read(Days(first=on, last=on), query, here, share=_NEAR) for on in clear]

    async def _read(self, days: Days, query: Query, here: tzinfo, *, share: float = 1.0) -> _Stretch:
        """The newest messages of each part of the days, and of those beside a single day."""
        parts, filters = list(_parts(days)), query.said_by_then
        pages = [self._page(*part.bounds(here), _MAX_READ // len(parts), filters) for part in parts]
        around = _around(days, here) if days.first == days.last else ()
        pages += [self._page(since, until, _MAX_READ_BESIDE, filters) for since, until in around]
        read = await asyncio.gather(*pages)
        own, beside = ([event for page in some for event in page] for some in (read[: len(parts)], read[len(parts) :]))
        return _Stretch(days, share, own, beside)

    async def _page(self, since: datetime, until: datetime, limit: int, filters: Filters) -> Sequence[Event]:
        page = await self._store.ask(ListEvents(filters.within(since, until - _INSTANT), limit=limit, whole=False, typed=False))
        return page.messages


def _about(anchor: Anchor, query: Query) -> Query:
    """The query for what was said about the event, by its words."""
    return Query(
        text=anchor.event,
        at=query.at,
        dated=query.dated,
        terms=anchor.terms,
        zone=query.zone,
        filters=query.said_by_then,
    )


def _parts(days: Days) -> Iterator[Days]:
    """The days in up to eight parts, each as long as the others but for the last."""
    count = (days.last - days.first).days + 1
    step = -(-count // _SPAN_PARTS)
    for start in range(0, count, step):
        first = days.first + timedelta(days=start)
        yield Days(first=first, last=min(days.last, first + timedelta(days=step - 1)))


def _around(day: Days, here: tzinfo) -> tuple[tuple[datetime, datetime], ...]:
    """The day before, the hours after, and the two days after a day."""
    since, until = day.bounds(here)
    return (since - _DAY, since), (until, until + _HOURS), (until + _HOURS, until + 2 * _DAY)


def _days_of(hits: Sequence[tuple[Event, float]], here: tzinfo) -> list[tuple[date, float]]:
    """The days on which an event may have been, the likeliest first, each with its share of the votes. A message votes as much
    as it speaks of the event, for the day that it names or else for its own."""
    votes = defaultdict[date, float](float)
    for event, own in hits:
        on = event.created_at.astimezone(here).date()
        named = [one for one in named_days(event.text[:_MAX_CHARS], on) if one.sure and one.days.first == one.days.last]
        votes[named[0].days.first if named else on] += own**2 * (_SAYS_WHEN if named else 1.0)
    total = sum(votes.values())
    return [(day, votes[day] / total) for day in nsmallest(_MAX_DAYS, votes, key=lambda day: (-votes[day], day))]


def _offers(found: Sequence[_Stretch], asked: DayAsked, here: tzinfo) -> dict[str, tuple[Event, Evidence]]:
    """The events that are wanted, by id, each with its evidence."""
    offers = dict[str, tuple[Event, Evidence]]()
    for stretch in found:
        near = [(event, _nearness(event, stretch, here)) for event in stretch.beside]
        for event, nearness in [*((event, 1.0) for event in stretch.own_events), *near]:
            strength = stretch.share * nearness * _strength(event, asked) if nearness else 0.0
            known = offers.get(event.id)
            if strength > 0 and (known is None or known[1].day_asked < strength):
                offers[event.id] = event, Evidence(day_asked=strength)
    return offers


def _nearness(event: Event, stretch: _Stretch, here: tzinfo) -> float:
    """The share of the evidence that remains of a message of another day. The user's may tell of the day. Where nothing was
    said on the day itself and nobody told in which zone the user lives, the hours around it may belong to it."""
    since, until = stretch.days.bounds(here)
    if not stretch.own_events and here is UTC and since - _HOURS <= event.created_at < until + _HOURS:
        return _TOLD_BESIDE
    if event.role != "user":
        return 0.0
    on = event.created_at.astimezone(here).date()
    told = any(one.sure and one.days == stretch.days for one in named_days(event.text[:_MAX_CHARS], on))
    return _TOLD_BESIDE if told else 0.0


def _strength(event: Event, asked: DayAsked) -> float:
    """How strongly the request asks for a message of its days."""
    if event.role not in ("user", "assistant"):
        return 0.0
    stems = frozenset(analyse(f"{event.name} {event.text}"))
    telling = min(1.0, len(stems - _COURTESY) / _FULL_WORDS)
    if not telling:
        return 0.0
    speaker = 1.0 if event.role == "user" or asked.answers else _ANSWER
    if not asked.topic:
        return speaker * (_ALL + (1 - _ALL) * telling)
    touched = _touched(asked.topic, stems)
    if touched:
        return max(speaker, _TOUCHED) * (_TOUCHED + (1 - _TOUCHED) * touched)
    return speaker * _UNTOUCHED * (0.5 + telling / 2)


def _touched(topic: Sequence[Term], stems: Set[str]) -> float:
    """The share of the terms of which the text has a stem."""
    return sum(not stems.isdisjoint(term.stems) for term in topic) / len(topic)
