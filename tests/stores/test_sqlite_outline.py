"""Outlines: after any writing, restoring and forgetting, the stored lines are those of the messages that are stored."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from germane.clock import Clock
from germane.kinds.conversations.outline import OutlinedMessage, line_hash, line_of_exchange, outline_name, split_exchanges
from germane.kinds.conversations.reads import LatestLines, ListOutline
from germane.kinds.events.reads import PutEvent
from germane.kinds.events.value import Event
from germane.kinds.injections import PutInjection, SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.reads import Forget
from germane.stores.contract import ScopedStore
from germane.stores.sql.conversations import outlines
from germane.stores.sql.conversations.outlines import messages_between
from germane.stores.sqlite import SqliteStore
from germane.text.normal import content_hash
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.trace import InjectedItem
from germane_testing.builders import NOON, Hashed, an_event, writing
from germane_testing.injection_contract import all_records, an_injection

pytestmark = pytest.mark.requirement("HIST-5")

S = "s"


def opened(folder: Path) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock())


def event(position: int, rng: random.Random) -> Event:
    role = rng.choice(("user", "user", "assistant"))
    text = f"canary{position}z of {role}"
    given = {"role": role, "type": f"{role}_message", "content_hash": content_hash(role, text)}
    return an_event(text, session=S, position=position, **given)


def held(folder: Path, positions: set[int]) -> list[int]:
    """The positions whose mark is in a file."""
    everything = b"".join(path.read_bytes() for path in folder.iterdir())
    return [place for place in positions if f"canary{place}z".encode() in everything]


async def lines(scoped: ScopedStore) -> list[tuple[str, str, str]]:
    page = await scoped.ask(ListOutline(S, limit=1_000))
    return [(line.first_id, line.last_id, line.text) for line in page.lines]


def made(events: list[Event]) -> list[tuple[str, str, str]]:
    """The lines of these messages, from scratch."""
    by_position = sorted(events, key=lambda one: one.position)
    said = [OutlinedMessage(one.position, one.type, one.role, one.name, one.text, one.raw, 1) for one in by_position]
    ids = {one.position: one.id for one in events}
    return [(ids[part[0].position], ids[part[-1].position], line_of_exchange(part)) for part in split_exchanges(said) if part]


@pytest.mark.parametrize("seed", range(12))
async def test_the_outline_is_that_of_the_stored_messages(tmp_path: Path, seed: int) -> None:
    """Whatever is added, before or behind, by one handle or two, and forgotten; and nothing forgotten is in any file."""
    rng = random.Random(seed)
    one, other = opened(tmp_path), opened(tmp_path)
    kept: dict[int, Event] = {}
    gone = set[int]()
    for _ in range(30):
        scoped = rng.choice((one, other)).within(Scope())
        act, top = rng.random(), max([*kept, *gone], default=-1)
        if act < 0.7:
            free = [place for place in range(top) if place not in kept and place not in gone]
            places = list(range(top + 1 + rng.choice((0, 0, 0, 3)), top + 1 + rng.randrange(1, 12)))
            places = [rng.choice(free)] if free and rng.random() < 0.3 else places
            new = [event(place, rng) for place in places]
            await scoped.commit(writing(*map(PutEvent, new)))
            kept |= {one.position: one for one in new}
        elif kept:
            chosen = rng.sample(sorted(kept), min(len(kept), rng.choice((1, 1, 2, 5))))
            ids = tuple(kept.pop(place).id for place in chosen)
            gone.update(chosen)
            await scoped.commit(writing(Forget(event_ids=ids, at=NOON)))
            assert not held(tmp_path, gone)
        assert await lines(one.within(Scope())) == made(list(kept.values())), seed
    assert not [said for _, said, fine in (await one.verify()).findings if not fine]
    await one.close()
    await other.close()


async def test_lines_of_a_killed_upgrade_are_made_by_the_next_one(tmp_path: Path) -> None:
    """A session without lines gets them in portions; a write meanwhile goes on from where they end."""
    rng = random.Random(5)
    store = opened(tmp_path)
    events = [event(place, rng) for place in range(1_300)]
    await store.within(Scope()).commit(writing(*map(PutEvent, events)))
    await store.close()
    with apsw.Connection(str(tmp_path / "a.db")) as connection:
        connection.execute("DELETE FROM history_outlines; UPDATE sessions SET outlined = 0")
        connection.execute("INSERT OR IGNORE INTO unoutlined SELECT key FROM sessions")
    connection.close()
    store = opened(tmp_path)
    more = [event(place, rng) for place in range(1_300, 1_310)]
    upgrade = asyncio.create_task(store.upgrade())
    for one in more:
        await store.within(Scope()).commit(writing(PutEvent(one)))
    assert await upgrade == 1
    assert await lines(store.within(Scope())) == made([*events, *more])
    await store.close()


async def test_a_message_that_is_all_of_its_exchange_gets_its_line_when_it_is_read(tmp_path: Path) -> None:
    """It says itself: nothing of it is written a second time, and no request is offered its line. Longer exchanges are."""
    store = opened(tmp_path)
    scoped = store.within(Scope())
    said = [("user", "Hello! The crane is at quay 4."), ("user", "It lifts 12 tons."), ("assistant", "Noted."), ("user", "Bye")]
    events = [
        an_event(text, session=S, position=place, role=role, type=f"{role}_message") for place, (role, text) in enumerate(said)
    ]
    for one in events:
        await scoped.commit(writing(PutEvent(one)))
    assert await lines(scoped) == made(events)
    assert (await scoped.ask(ListOutline(S, limit=1))).lines[0].text == "The crane is at quay 4."
    latest = await scoped.ask(LatestLines(9, filters=Filters()))
    assert [line.text for line in latest] == ["It lifts 12 tons. → Noted."]
    names = [f"{one.id}@outline" for one in events]
    assert set(await scoped.ask(AllowedIds(names, NOON, Filters()))) == {names[1]}
    await store.close()
    with apsw.Connection(str(tmp_path / "a.db")) as connection:
        kept = list(connection.execute("SELECT first, last, messages, line FROM history_outlines ORDER BY first"))
    connection.close()
    assert kept == [(0, 0, 1, ""), (1, 2, 2, "It lifts 12 tons. → Noted.")]


@pytest.mark.parametrize("portion", [1, 2, 5, 40])
async def test_what_is_at_hand_is_not_read_again(tmp_path: Path, portion: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that grow by appending are read with one statement for all; however they grow, the lines are the same."""
    alone = list[int]()

    def counted(connection: apsw.Connection, *given: int, **named: int) -> list[OutlinedMessage]:
        alone.append(1)
        return messages_between(connection, *given, **named)

    monkeypatch.setattr(outlines, "messages_between", counted)
    rng, store = random.Random(portion), opened(tmp_path)
    scoped = store.within(Scope())
    events = [event(place, rng) for place in range(240)]
    for start in range(0, len(events), portion):
        await scoped.commit(writing(*map(PutEvent, events[start : start + portion])))
    assert not alone
    assert await lines(scoped) == made(events)
    await store.close()


@pytest.mark.requirement("INJECT-6", "INJECT-10")
@pytest.mark.parametrize("prefix", ["", "hash"])
async def test_a_record_of_an_injected_line_is_kept_while_the_line_is_what_was_shown(tmp_path: Path, prefix: str) -> None:
    """Of a line with other words, only a record is kept whose text has to go on standing."""
    store = opened(tmp_path)
    scoped = store.within(Scope(session=S))
    said = [("user", "It lifts 12 tons."), ("assistant", "Noted."), ("user", "Bye")]
    for place, (role, text) in enumerate(said):
        await scoped.commit(writing(PutEvent(an_event(text, session=S, position=place, role=role, type=f"{role}_message"))))
    (line,) = await scoped.ask(LatestLines(9, filters=Filters()))
    shown = InjectedItem(
        handle="m1",
        id=outline_name(line.first_id),
        content_hash=line_hash(line.first_id, line.text),
        source="session",
    )
    same = an_injection(items=(shown,), prefix=prefix)
    other = an_injection(items=(replace(shown, content_hash=5),), prefix=prefix, turn="other")
    await scoped.commit(writing(PutInjection(S, same), PutInjection(S, other)))
    kept = await scoped.ask(SessionInjections(all_records, NOON, Filters()))
    assert kept.records == ((same, other) if prefix else (same,))
    await store.close()
