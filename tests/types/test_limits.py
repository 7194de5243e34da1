"""What is too large is refused by every verb before any work, by the argument's name, with its size and the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from germane import Agent, Filters, Germane, InvalidInput, Message, derive
from germane.api.strategies import DEFAULT
from germane.stores.sqlite.readers import SqliteReaders
from germane.stores.sqlite.writer import SqliteWriter
from germane.sync import Germane as Blocking
from germane.types.candidate import Provenance
from germane.types.message import Opaque, Text
from germane.types.strategy import Strategy

ASKED: list[Any] = [{"role": "user", "content": "What is my greyhound called?"}]
HALF = "\ud800"
HUGE = 10**5000
DEEP: list[Any] = []
for _ in range(100):
    DEEP = [DEEP]
ENDLESS: dict[str, Any] = {}
ENDLESS["self"] = ENDLESS
LONG = "x" * 300
_NUMBERS = count()


@pytest.fixture
def agent(shared: Germane) -> Agent:
    """An agent of its own for each test, in the module's store."""
    return shared.agent(f"support {next(_NUMBERS)}", user="ann")


@pytest.fixture
def idle(shared: Germane, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """From now on whatever reaches the store fails the test."""

    def worked(*_: object) -> None:
        raise AssertionError("the store was asked")

    with monkeypatch.context() as patch:
        for kind, name in ((SqliteReaders, "_put"), (SqliteReaders, "_with_others"), (SqliteWriter, "run")):
            patch.setattr(kind, name, worked)
        yield


def many(entries: int) -> list[str]:
    return [f"x{number}" for number in range(entries)]


def strategy(**changes: Any) -> Callable[[], Strategy]:
    return lambda: replace(DEFAULT, **changes)


ASSEMBLE: list[tuple[dict[str, Any], str]] = [
    ({"model": LONG}, "model has 300 characters, 256 are allowed"),
    ({"model": HUGE}, "model must be a name"),
    ({"provider": LONG}, "provider has 300 characters, 256"),
    ({"provider": DEEP}, "provider must be a string"),
    ({"session": LONG}, "session must have 1 to 256 characters, not 300"),
    ({"strategy": LONG}, "strategy has 300 characters, 256"),
    ({"query": "x" * 4_000_001}, "query has 4,000,001 characters, 4,000,000 are allowed"),
    ({"max_tokens": HUGE}, "max_tokens must be a whole number from 0 to 1,000,000,000, not a whole number of 16,610 bits"),
    ({"tools": [{}] * 10_001}, "tools has at least 10,001 tools, 10,000 are allowed"),
    ({"tools": ({} for _ in count())}, "tools has at least 10,001 tools"),
    ({"tools": [{"description": "x" * 2_000_000}] * 3}, r"tools has at least 4,0\d+,\d+ characters, 4,000,000"),
    ({"tools": [{}, {"parameters": DEEP}]}, r"tools\[1\] is nested deeper than 64 levels"),
    ({"tools": [ENDLESS]}, r"tools\[0\] is nested deeper than 64 levels, or contains itself"),
    ({"tools": [{"enum": [1] * 100_000}]}, r"tools\[0\] has at least 100,00\d values, 100,000"),
    ({"tools": [{"maximum": HUGE}]}, r"tools\[0\] holds a whole number of 16,610 bits, 1,024"),
    ({"messages": ASKED * 100_001}, "messages has 100,001 messages, 100,000 are allowed: leave out the oldest"),
    (
        {"messages": [{"role": "user", "content": "x" * 1_000_000}] * 65},
        "messages has at least 64,000,960 characters",
    ),
    ({"messages": [Message.of("user", "x" * 1_000_000)] * 65}, r"messages has at least 6\d,\d+,\d+ characters, 64,000"),
    (
        {"messages": [*ASKED, {"role": "user", "content": [{"type": "x", "x": DEEP}]}]},
        "messages\\[1\\] is nested deeper than 64",
    ),
    ({"messages": [{"role": "user", "content": [{"type": "x", "x": ENDLESS}]}]}, "messages\\[0\\] is nested deeper than 64"),
    ({"messages": [Message(role="user", parts=(Opaque(kind="x", raw=ENDLESS),))]}, "messages\\[0\\] is nested deeper than 64"),
    ({"messages": [{"role": DEEP, "content": "x"}]}, "messages\\[0\\] is nested deeper than 64"),
    ({"messages": [{"role": "user", "content": "x", "id": HUGE}]}, "messages\\[0\\] holds a whole number of 16,610 bits"),
    ({"messages": [{"role": "user", "content": "x", "y": [0] * 100_000}]}, "messages\\[0\\] has at least 100,00. values"),
    ({"messages": [{"role": "user", "content": [""] * 99_990}] * 21}, "messages has at least .* values, 2,000,000 are allowed"),
]
FILTERS: list[tuple[dict[str, Any], str]] = [
    ({"tags": many(32_767)}, "filters.tags has 32,767 entries, 1,000 are allowed"),
    ({"tags": (str(number) for number in count())}, "filters.tags has at least 1,001 entries"),
    ({"tags": ["a", "x" * 65]}, r"filters.tags\[1\] has 65 characters, 64 are allowed"),
    ({"exclude": many(10_001)}, "filters.exclude has 10,001 entries, 10,000"),
    ({"exclude": [LONG]}, r"filters.exclude\[0\] has 300 characters, 256"),
    *(
        ({name: ["fact"] * 1_001}, f"filters.{name} has 1,001 entries, 1,000")
        for name in ("kinds", "event_types", "entity_types", "sensitivities")
    ),
    ({"event_types": [LONG]}, r"filters.event_types\[0\] has 300 characters, 256"),
    ({"session": LONG}, "filters.session has 300 characters, 256"),
    ({"task": LONG}, "filters.task has 300 characters, 256"),
    ({"with_ended": "no"}, "filters.with_ended must be true or false, not 'no'"),
]
SENSE: list[tuple[dict[str, Any], str]] = [
    ({"kinds": ["fact", "opinion"]}, "filters.kinds must be some of fact, .* not 'opinion'"),
    (
        {"since": datetime(2024, 5, 2, tzinfo=UTC), "until": datetime(2024, 5, 1, tzinfo=UTC)},
        "filters.since .* is after",
    ),
    (
        {"until": datetime.max - timedelta(hours=1)},
        "filters.until 9999-12-31T22:59:59.* is outside the years",
    ),
]
STRATEGIES: list[tuple[Callable[[], Strategy], str]] = [
    (strategy(tags=many(1_001)), "tags has 1,001 entries, 1,000"),
    (strategy(fact_keys=many(1_001)), "fact_keys has 1,001 entries, 1,000"),
    (strategy(fact_keys=(5,)), r"fact_keys\[0\] must be a string"),
    (strategy(name=LONG), "name has 300 characters"),
    (strategy(format="odd"), "format must be one of"),
    (strategy(sources=5), "sources must be a tuple of SourcePlan"),
    (strategy(weights=5), "weights must be a Weights"),
    (strategy(shares=5), "shares must be a Shares"),
    (strategy(half_lives={"event": 1e-320}), "half_lives.event is shorter than a second"),
    (strategy(cap=HUGE), "cap must be a whole number"),
    (lambda: derive(DEFAULT, {"sources": {"recent": {"limit": 2**70}}}), "limit must be a whole number .* 71 bits"),
    (lambda: derive(DEFAULT, {"sources": {"recent": {"timeout": HUGE}}}), "timeout must be a number of seconds above 0"),
]
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("search", {"query": "x" * 4_000_001}, "query has 4,000,001 characters"),
    ("search", {"query": "x", "limit": HUGE}, "limit must be a whole number"),
    ("fallback", {"messages": ASKED, "model": LONG}, "model has 300 characters"),
    ("fallback", {"messages": ASKED, "model": "gpt-4o", "reason": LONG}, "reason has 300 characters, 256"),
    ("record", {"messages": ASKED * 200_001, "session": "s"}, "messages has 200,001 messages, 200,000 .*in several calls"),
    (
        "record",
        {"messages": [{"role": "user", "content": "x" * 4_000_001}], "session": "s"},
        "messages\\[0\\].content has 4,0",
    ),
    (
        "record",
        {"messages": [{"role": "user", "content": "x", "id": LONG}], "session": "s"},
        "messages\\[0\\].id has 300",
    ),
    (
        "record",
        {"messages": [{"role": "user", "content": "x", "more": DEEP}], "session": "s"},
        "messages\\[0\\] is nested deeper",
    ),
    (
        "record",
        {"messages": [{"role": "user", "content": "x", "seed": HUGE}], "session": "s"},
        "messages\\[0\\] holds a whole number of",
    ),
    ("record", {"messages": ASKED, "session": "s", "channel": LONG}, "channel has 300 characters, 256"),
    ("record", {"messages": ASKED, "session": "s", "source_kind": DEEP}, "source_kind must be one of"),
    ("remember", {"text": "x", "kind": LONG}, "kind has 300 characters"),
    ("remember", {"text": "x", "kind": []}, "kind must be a string"),
    ("remember", {"text": "x" * 100_001}, "body has 100,001 characters, 100,000"),
    ("remember", {"text": "x", "tags": (f"t{n}" for n in count())}, "tags has at least 1,001 entries"),
    ("remember", {"text": "x", "sensitivity": DEEP}, "sensitivity must be one of public, private, sensitive, not list"),
    ("remember", {"text": "x", "confidence": HUGE}, "confidence must be a number"),
    ("remember", {"text": "x", "agent_wide": "no"}, "agent_wide must be true or false, not 'no'"),
    ("remember", {"text": "x", "y" * 300: 1}, "a note has no y{40}:"),
    ("remember", {"kind": "fact", "key": "k", "value": ENDLESS}, "value is nested deeper than 64"),
    ("remember", {"kind": "fact", "key": "k", "value": [0] * 10_000}, "value has at least 10,001 values, 10,000"),
    ("remember", {"kind": "fact", "key": LONG, "value": "x"}, "key must have 1 to 256 characters"),
    ("remember", {"text": "x", "provenance": Provenance(refs=tuple(many(1_001)))}, "provenance.refs has 1,001 entries"),
    ("remember", {"text": "x", "provenance": Provenance(refs=(LONG,))}, r"provenance.refs\[0\] has 300 characters"),
    ("remember", {"text": "x", "provenance": Provenance(session=LONG)}, "provenance.session has 300 characters"),
    ("remember", {"text": "x", "provenance": Provenance(metadata=ENDLESS)}, "provenance.metadata is nested deeper"),
    ("remember", {"text": "x", "provenance": Provenance(metadata={"x": float("nan")})}, "metadata can't be written as JSON"),
    ("remember", {"text": "x", "provenance": Provenance(source_kind="x")}, "provenance.source_kind must be one of"),  # type: ignore[arg-type]
    ("feedback", {"ids": many(10_001)}, "ids has 10,001 entries, 10,000 are allowed: give them in several calls"),
    ("feedback", {"ids": ["a", LONG]}, r"ids\[1\] has 300 characters"),
    ("feedback", {"ids": [HUGE]}, r"ids\[0\] must be a string"),
    ("forget", {"ids": many(10_001)}, "ids has 10,001 entries"),
    ("forget", {"session": LONG}, "session has 300 characters"),
    ("forget", {"user": LONG}, "user has 300 characters"),
    ("forget", {"tag": "x" * 65}, "tag has 65 characters, 64"),
    ("forget", {"ids": ["a"], "by": "x" * 1_001}, "by has 1,001 characters, 1,000"),
    ("forget", {"ids": ["a"], "reason": "x" * 1_001}, "reason has 1,001 characters, 1,000"),
    ("forget", {"everything": 1}, "everything must be true or false, not 1"),
    ("forget", {"ids": ["a"], "dry_run": "no"}, "dry_run must be true or false, not 'no'"),
    ("directive", {"text": "x" * 100_001}, "directive has 100,001 characters, 100,000"),
    ("memories.get", {"id": LONG}, "id has 300 characters"),
    ("memories.versions", {"id": LONG}, "id has 300 characters"),
    ("memories.update", {"id": LONG, "text": "x"}, "id has 300 characters"),
    ("memories.list", {"cursor": LONG}, "cursor has 300 characters, 256"),
    ("memories.list", {"limit": HUGE}, "limit must be a whole number from 1 to 1,000"),
]


async def asked(agent: Agent, verb: str, arguments: dict[str, Any]) -> Any:
    of: Any = agent
    for name in verb.split("."):
        of = getattr(of, name)
    return await of(**arguments)


@pytest.mark.requirement("LIMITS-1")
@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(("argument", "text"), ASSEMBLE, ids=lambda value: value[:30] if isinstance(value, str) else "")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_assembly_that_is_too_large_is_refused_by_the_arguments_name(
    agent: Agent, argument: dict[str, Any], text: str
) -> None:
    """Its size and the limit are told, and nobody is asked."""
    with pytest.raises(InvalidInput, match=f"^{text}"):
        await agent.assemble(**{"messages": ASKED, "model": "gpt-4o"} | argument)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(("verb", "arguments", "text"), OTHERS, ids=[f"{verb}: {text[:30]}" for verb, _, text in OTHERS])
@pytest.mark.asyncio(loop_scope="module")
async def test_so_is_every_other_verb(agent: Agent, verb: str, arguments: dict[str, Any], text: str) -> None:
    """The same."""
    with pytest.raises(InvalidInput, match=text):
        await asked(agent, verb, arguments)


@pytest.mark.parametrize(("given", "text"), FILTERS, ids=lambda value: value[:30] if isinstance(value, str) else "")
def test_filters_that_are_too_many_are_refused_when_they_are_made(given: dict[str, Any], text: str) -> None:
    """Today's 32,767 tags among them, which SQLite has no variables for."""
    with pytest.raises(InvalidInput, match=f"^{text}"):
        Filters(**given)


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(("given", "text"), SENSE, ids=lambda value: value[:30] if isinstance(value, str) else "")
@pytest.mark.asyncio(loop_scope="module")
async def test_filters_without_sense_are_refused_where_they_are_used(shared: Germane, given: Any, text: str) -> None:
    """By assembling, recalling and listing alike."""
    agent, filters = shared.agent(zone="America/New_York"), Filters(**given)
    for verb, arguments in (
        ("assemble", {"messages": ASKED, "model": "gpt-4o"}),
        ("search", {"query": "x"}),
        ("memories.list", {}),
    ):
        with pytest.raises(InvalidInput, match=f"^{text}"):
            await asked(agent, verb, {**arguments, "filters": filters})


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(("made", "text"), STRATEGIES, ids=lambda value: value[:30] if isinstance(value, str) else "")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_strategy_that_cannot_be_used_is_refused_and_degrades_nothing(agent: Agent, made: Any, text: str) -> None:
    """By `Strategy` itself, or by the verb it is given to."""
    with pytest.raises(InvalidInput, match=text):
        await agent.assemble(ASKED, model="gpt-4o", strategy=made())


def names() -> Iterator[tuple[str, dict[str, Any]]]:
    asking = {"messages": ASKED, "model": "gpt-4o"}
    for argument in ("model", "provider", "session", "strategy"):
        yield "assemble", {**asking, argument: HALF}
    for argument in ("session", "source_kind", "channel"):
        yield "record", {"messages": ASKED, "session": "s", argument: HALF}
    yield "record", {"messages": [{"role": "user", "content": "x", "id": HALF}], "session": "s"}
    yield "fallback", {**asking, "reason": HALF}
    for argument in ("key", "tag", "session", "user", "by", "reason"):
        yield "forget", {"ids": ["a"], argument: HALF}
    for verb in ("forget", "feedback"):
        yield verb, {"ids": ["a", HALF]}
    for verb in ("get", "versions"):
        yield f"memories.{verb}", {"id": HALF}
    yield "memories.update", {"id": HALF, "text": "x"}
    yield "memories.list", {"cursor": HALF}
    for argument in ("kind", "text", "title", "sensitivity", "expires_at"):
        yield "remember", {"text": "x", argument: HALF}
    yield "remember", {"text": "x", "tags": ["a", HALF]}
    yield "remember", {"kind": "fact", "key": HALF, "value": "x"}
    yield "remember", {"kind": "fact", "key": "k", "value": {"a": [HALF]}}
    for argument in ("source_kind", "channel", "session", "message_id", "tool_call_id"):
        yield "remember", {"text": "x", "provenance": Provenance(**{argument: HALF})}  # type: ignore[arg-type]
    yield "remember", {"text": "x", "provenance": Provenance(refs=(HALF,))}
    yield "remember", {"text": "x", "provenance": Provenance(metadata={"a": HALF})}
    yield "directive", {"text": HALF}


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(("verb", "arguments"), list(names()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.asyncio(loop_scope="module")
async def test_half_a_character_is_refused_in_every_name(agent: Agent, verb: str, arguments: dict[str, Any]) -> None:
    """Lone surrogates: no file, database or wire takes them."""
    with pytest.raises(InvalidInput):
        await asked(agent, verb, arguments)


@pytest.mark.parametrize(
    "name", ["kinds", "event_types", "entity_types", "tags", "sensitivities", "exclude", "session", "task"]
)
def test_half_a_character_is_refused_in_every_filter(name: str) -> None:
    """And in a scope's parts."""
    with pytest.raises(InvalidInput, match=f"filters.{name}"):
        Filters(**{name: HALF if name in ("session", "task") else [HALF]})  # type: ignore[arg-type]


@pytest.mark.parametrize("argument", ["org", "agent", "user", "zone"])
@pytest.mark.asyncio(loop_scope="module")
async def test_half_a_character_is_refused_in_a_scope(shared: Germane, argument: str) -> None:
    """By the name of its part."""
    with pytest.raises(InvalidInput, match=argument):
        shared.agent(**{argument: HALF})


@pytest.mark.asyncio(loop_scope="module")
async def test_half_a_character_goes_through_in_what_people_type(agent: Agent) -> None:
    """An emoji cut in two: in messages and in the question that stands in for them."""
    await agent.record([{"role": "user", "content": f"My greyhound is Biscuit {HALF}"}], session="s1")
    context = await agent.assemble(ASKED, model="gpt-4o", query=f"greyhound {HALF}", session="s2", deadline=None)
    assert "Biscuit" in context.added
    assert await agent.search(f"greyhound {HALF}")


@pytest.mark.asyncio(loop_scope="module")
async def test_what_reaches_the_limits_is_let_through(agent: Agent) -> None:
    """SQLite takes a thousand names and ten thousand ids."""
    kept = await agent.remember("My greyhound is called Biscuit", tags=["pet"])
    other = await agent.remember("My other greyhound is called Cake", tags=["pet"])
    tags, exclude = [*many(999), "pet"], [*many(9_999), other.id]
    wide = Filters(tags=tags, exclude=frozenset(exclude), kinds=["note"] * 1_000, sensitivities=["private"] * 1_000)  # type: ignore[arg-type]
    assert [one.id for one in (await agent.memories.list(wide)).memories] == [kept.id]
    assert [one.id for one in await agent.search("greyhound", filters=wide)] == [kept.id]
    typed = Filters(event_types=[*many(999), "user_message"])  # type: ignore[arg-type]
    context = await agent.assemble(ASKED, model="gpt-4o", filters=typed, deadline=None)
    assert context.metadata.degradation_level == 0
    fetching = replace(DEFAULT, tags=tuple(tags), fact_keys=tuple(many(1_000)))
    context = await agent.assemble(ASKED, model="gpt-4o", strategy=fetching, deadline=None)
    assert {report.name: report.found for report in context.metadata.sources}["structured"] == 2
    assert context.metadata.degradation_level == 0
    assert await agent.feedback([*many(9_999), kept.id]) == 1
    assert (await agent.forget([*many(9_999), kept.id])).memory_ids == (kept.id,)


@pytest.mark.parametrize("at", [datetime.min, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
@pytest.mark.asyncio(loop_scope="module")
async def test_the_first_and_the_last_moment_there_are_can_be_asked_about(shared: Germane, at: datetime) -> None:
    """In a zone that is hours away, with relative days in the question, and as the bounds of a filter."""
    agent = shared.agent(f"moment {next(_NUMBERS)}", zone="America/New_York")
    await agent.record([{"role": "user", "content": "yesterday's greyhound", "created_at": at}], session="s")
    filters = Filters(since=datetime.min.replace(tzinfo=UTC), until=datetime.max.replace(tzinfo=UTC))
    context = await agent.assemble(
        [{"role": "user", "content": "greyhound tomorrow, in 9999 years"}],
        model="gpt-4o",
        at=at,
        filters=filters,
        strategy="compact",
        deadline=None,
    )
    assert (context.metadata.degradation_level, len(context.items)) == (0, 1)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message(role="user", parts=(5,)), "messages\\[0\\].parts\\[0\\] is int"),  # type: ignore[arg-type]
        (Message(role="robot", parts=()), "messages\\[0\\].role is unknown"),  # type: ignore[arg-type]
        (Message(role="user", parts=(Text(5),)), "messages\\[0\\].parts\\[0\\].text is int"),  # type: ignore[arg-type]
        (Message(role="user", id=5), "messages\\[0\\].id is int"),  # type: ignore[arg-type]
        (Message(role="user", created_at="now"), "messages\\[0\\].created_at is str"),  # type: ignore[arg-type]
        (Message(role="user", parts=5), "messages\\[0\\].parts is int"),  # type: ignore[arg-type]
        (Message.of("robot", "x"), "messages\\[0\\].role is unknown"),  # type: ignore[arg-type]
        (Message.of("user", "x", id=5), "messages\\[0\\].id is int"),  # type: ignore[arg-type]
        (Message.of("user", "x", name=5), "messages\\[0\\].name is int"),  # type: ignore[arg-type]
        (Message.of("user", "x", created_at="now"), "messages\\[0\\].created_at is str"),  # type: ignore[arg-type]
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_message_value_that_is_not_what_its_type_says_is_refused(agent: Agent, message: Message, text: str) -> None:
    """No dialect looks at it: it is read as it is."""
    for verb, arguments in (("assemble", {"model": "gpt-4o"}), ("record", {"session": "s"})):
        with pytest.raises(InvalidInput, match=text):
            await asked(agent, verb, {"messages": [message], **arguments})


def test_the_blocking_twin_refuses_the_same() -> None:
    """It only forwards."""
    with Blocking.open(":memory:", freeze=False) as blocking:
        agent = blocking.agent()
        for verb, arguments, text in OTHERS[:6]:
            with pytest.raises(InvalidInput, match=text):
                getattr(agent, verb)(**arguments)
        for text, given in (
            ("model has 300 characters", {"text": "x", "model": LONG}),
            ("text must be", {"text": 5, "model": "x"}),
        ):
            with pytest.raises(InvalidInput, match=text):
                blocking.count(**given)


@pytest.mark.asyncio(loop_scope="module")
async def test_keys_have_limits_too(shared: Germane) -> None:
    """Endless lists, long names, numbers beyond bounds."""
    keys = shared.keys
    for arguments, text in (
        ({"org": LONG}, "org must have"),
        ({"org": "o", "agents": (str(n) for n in count())}, "agents must be 1 to 256 names"),
        ({"org": "o", "rights": ("read" for _ in count())}, "rights has at least 1,001 entries"),
        ({"org": "o", "note": LONG}, "note must have"),
        ({"org": "o", "replaces": LONG}, "replaces has 300 characters"),
    ):
        with pytest.raises(InvalidInput, match=text):
            await keys.create(**arguments)
    with pytest.raises(InvalidInput, match="id has 300 characters"):
        await keys.revoke(LONG)
    assert await keys.verify(LONG, patience=HUGE) is None
