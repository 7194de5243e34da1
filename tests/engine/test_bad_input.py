"""What can't be used is refused with its name where the caller can act; everything else goes through, whatever is in it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Conflict, Filters, Germane, InvalidInput, Message, UnknownName
from germane_testing.builders import MOMENT
from support.calendar import Calendar
from support.oracle import oracle
from support.stories import ASKED, MODELS, ask, ids, told

WRONG: dict[str, list[Any]] = {
    "model": [None, 5, "", " "],
    "provider": ["mistral", 5, []],
    "tools": ["abc", 5, [1], {"type": "function"}],
    "query": [5, b"x", []],
    "session": [5, "", b"x", "a\0", "x" * 300],
    "at": ["2024-05-01", 5],
    "deadline": ["x", -1, 0, float("nan"), True],
    "max_tokens": [-1, 1.5, "x", True],
    "effort": ["", "huge", "2", True, 0, -1, 101, float("nan"), [], {}],
    "window": [0, -1, 1.5, "32000", True, 10**12],
    "like": [5, "", "frobnicate-9", "x" * 300, []],
    "system": [5, 1.5, b"x", [5], [{"type": "image"}], {"parts": 5}, {"parts": [{"inlineData": {}}]}, {}, [{"text": 5}]],
    "strategy": ["none such", 5, None, []],
    "filters": ["x", 5, {"tags": ["a"]}],
    "messages": [None, 5, "hello", b"x", {"role": "user", "content": "x"}, iter(ASKED)],
}
MALFORMED = [
    5,
    None,
    "x",
    {},
    {"role": "robot", "content": "y"},
    {"role": "user", "content": 5},
    {"role": "user", "content": [5]},
]
LANGUAGES = {
    "Chinese": ("我上周收养了一只名叫饼干的灰狗", "我的灰狗叫什么名字？", "饼干"),
    "Japanese": ("先週、ビスケットという名前のグレーハウンドを飼いました", "私のグレーハウンドの名前は何ですか", "ビスケット"),
    "Thai": ("ฉันรับเลี้ยงสุนัขเกรย์ฮาวด์ชื่อบิสกิตเมื่อสัปดาห์ก่อน", "สุนัขเกรย์ฮาวด์ของฉันชื่ออะไร", "บิสกิต"),
    "Arabic": ("تبنيت كلبا سلوقيا اسمه بسكويت الأسبوع الماضي", "ما اسم الكلب السلوقي الذي تبنيت؟", "بسكويت"),
    "Hindi": ("मैंने पिछले हफ्ते बिस्किट नाम का कुत्ता गोद लिया", "मेरे कुत्ते का नाम क्या है?", "बिस्किट"),
    "Russian": ("На прошлой неделе я взяла борзую по кличке Печенька", "Как зовут мою борзую?", "Печенька"),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_argument_of_assemble_that_cannot_be_used_is_named(shared: Germane, name: str, value: Any) -> None:
    """A typed error at the edge, before anything is done."""
    given: dict[str, Any] = {"messages": ASKED, "model": "gpt-4o", "deadline": None} | {name: value}
    with pytest.raises(InvalidInput, match=name):
        await shared.agent().assemble(given.pop("messages"), **given)


@pytest.mark.parametrize("message", MALFORMED, ids=repr)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_message_that_cannot_be_read_is_named_by_its_place(shared: Germane, message: Any) -> None:
    """In asking and in recording."""
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        await shared.agent().assemble([*ASKED, message], model="gpt-4o")
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        await shared.agent().record([*ASKED, message], session="s1")


@pytest.mark.parametrize(
    ("field", "value"),
    [("tags", "work"), ("tags", [5]), ("since", "yesterday"), ("sensitivities", ["secret"]), ("exclude", "m1"), ("session", 5)],
)
def test_a_filter_that_cannot_be_used_is_named(field: str, value: Any) -> None:
    """A string where a list belongs would filter by its letters."""
    with pytest.raises(InvalidInput, match=field):
        Filters(**{field: value})


@pytest.mark.parametrize(
    ("verb", "arguments", "named"),
    [
        *(("search", {"query": value}, "query") for value in (None, 5)),
        *(("search", {"query": "x", "limit": value}, "limit") for value in ("x", -1, 1.5, None)),
        *(("feedback", {"ids": value}, "ids") for value in (None, 5, [5])),
        *(("forget", {"ids": value}, "ids") for value in (5, [None])),
        *(("forget", {name: 5}, name) for name in ("key", "tag", "session", "user")),
        ("forget", {}, "what to forget"),
        *(("directive", {"text": value}, "directive") for value in (5, b"x")),
        ("remember", {"text": 5}, "body"),
        ("remember", {"text": "x", "provenance": 5}, "provenance"),
        ("remember", {"text": "x", "colour": "red"}, "colour"),
        ("record", {"messages": ASKED, "session": None}, "session"),
        ("record", {"messages": ASKED, "session": "s", "channel": 5}, "channel"),
        ("record", {"messages": iter(ASKED), "session": "s"}, "messages"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_an_argument_of_any_verb_that_cannot_be_used_is_named(
    shared: Germane, verb: str, arguments: Any, named: str
) -> None:
    """Nobody gets another's exception."""
    with pytest.raises(InvalidInput, match=named):
        await getattr(shared.agent(), verb)(**arguments)


@pytest.mark.parametrize(
    "scope", [{"agent": 5}, {"agent": ""}, {"org": "x" * 257}, {"user": "a\0b"}, {"zone": "Nowhere"}, {"zone": 5}]
)
@pytest.mark.asyncio(loop_scope="module")
async def test_a_scope_that_cannot_be_is_refused(shared: Germane, scope: Any) -> None:
    """By the name of its part."""
    with pytest.raises(InvalidInput, match=next(iter(scope))):
        shared.agent(**scope)


@pytest.mark.requirement("BUD-1")
async def test_an_unknown_model_is_assumed_small_and_the_trace_warns(agent: Agent) -> None:
    """A window of 8,192 and the widest safety."""
    context = await ask(await told(agent), model="frontier-9000")
    budget = context.trace.budget
    assert budget is not None
    assert (budget.window, budget.safety) == (8192, 819)
    assert any("frontier-9000" in warning for warning in context.trace.warnings)
    assert "m1" in ids(context)


async def test_an_unknown_strategy_lists_those_there_are(agent: Agent) -> None:
    """What to do is in the message."""
    with pytest.raises(UnknownName, match="coding, compact, composite, default, digest, research, support, verbose"):
        await ask(agent, strategy="fancy")


@pytest.mark.requirement("SCOPE-4")
async def test_naive_times_are_in_the_scopes_zone(germane: Germane) -> None:
    """In messages, filters and `at` alike."""
    agent = germane.agent(user="caroline", zone="Asia/Tokyo")
    noon = datetime(2026, 3, 9, 12)
    await agent.record([{"id": "m1", "role": "user", "content": "my greyhound", "created_at": noon}], session="s1")
    context = await ask(agent, strategy="verbose")
    assert [item.scored.candidate.created_at for item in context.items] == [datetime(2026, 3, 9, 3, tzinfo=UTC)]
    assert 'time="2026-03-09T12:00' in context.added
    for until, found in ((noon, ["m1"]), (noon - timedelta(minutes=1), [])):
        context = await ask(agent, filters=Filters(until=until))
        assert ids(context) == found
        assert context.metadata.degradation_level == 0
    query = (await ask(agent, at=noon)).trace.query
    assert query is not None
    assert query.at == datetime(2026, 3, 9, 3, tzinfo=UTC)


@pytest.mark.requirement("SCORE-3")
async def test_messages_from_the_future_are_kept_and_count_as_new(agent: Agent, calendar: Calendar) -> None:
    """Recency clamps to 1."""
    later = calendar.moment + timedelta(days=900)
    await agent.record([{"id": "m1", "role": "user", "content": "my greyhound", "created_at": later}], session="s1")
    (item,) = (await ask(agent)).items
    assert item.scored.candidate.created_at == later
    assert item.scored.breakdown.recency == 1.0


async def test_one_id_with_two_contents_in_a_call_is_a_conflict_and_twice_the_same_is_one(agent: Agent) -> None:
    """Duplicate ids."""
    one = {"id": "m1", "role": "user", "content": "one"}
    with pytest.raises(Conflict, match="m1"):
        await agent.record([one, {**one, "content": "two"}], session="s1")
    assert len((await agent.record([one, one], session="s1")).added) == 1
    context = await agent.assemble([one, one], model="gpt-4o", deadline=None)
    assert len(context.messages) == 2


async def test_lone_surrogates_go_through_recording_and_asking(agent: Agent) -> None:
    """Kept as the replacement character, never an error."""
    await agent.record([{"id": "m1", "role": "user", "content": "my \ud800 greyhound \udfff Biscuit"}], session="s1")
    asked = [{"role": "user", "content": "greyhound \ud83d?"}]
    context = await agent.assemble(asked, model="gpt-4o", session="s2", deadline=None)
    assert ids(context) == ["m1"]
    assert context.messages[-1] is asked[0]
    context.added.encode()
    json.dumps(context.to_openai(), ensure_ascii=False).encode("utf-8", "surrogatepass")


async def test_a_message_of_a_megabyte_is_recorded_found_and_answered(agent: Agent) -> None:
    """An excerpt of it goes in; asked itself, it exceeds the window and comes back whole."""
    long = "The quick brown fox walks home. " * 32_000 + "My greyhound is called Biscuit."
    await agent.record([{"id": "m1", "role": "user", "content": long}], session="s1")
    context = await ask(agent)
    assert context.metadata.fallback_reason == ""
    assert context.metadata.total_tokens_injected <= 8000
    asked = [{"role": "user", "content": long}]
    context = await agent.assemble(asked, model="gpt-4o", session="s2", deadline=None)
    assert context.messages == asked
    assert context.metadata.fallback_reason == "messages_exceed_window"


async def test_ten_thousand_messages_come_back_all(agent: Agent) -> None:
    """In order, the very same objects, with germane's own directly before the question."""
    await told(agent)
    asked = [{"role": ("user", "assistant")[at % 2], "content": f"message {at}"} for at in range(9_999)] + ASKED
    context = await agent.assemble(asked, model="gpt-4.1", session="s2", deadline=None)
    assert context.messages[-2]["role"] == "user"  # type: ignore[index]
    rest = [*context.messages[:-2], context.messages[-1]]
    assert all(one is other for one, other in zip(rest, asked, strict=True))
    assert "m1" in ids(context)


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": ""},
        {"role": "user", "content": None},
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "text", "text": ""}]},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "42"}]},
        {"role": "tool", "tool_call_id": "zzz", "content": "of no call"},
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"text": "what is it?"}]},
        {"role": "user", "content": [{"type": "hologram", "hologram": {"x": 1}}]},
    ],
    ids=repr,
)
async def test_every_role_and_part_of_every_provider_goes_through(agent: Agent, message: dict[str, Any], provider: str) -> None:
    """Recorded and asked, for every provider, together with what is known."""
    await told(agent)
    await agent.record([message], session="s3")
    context = await agent.assemble([message, *ASKED], model=MODELS[provider], session="s2", deadline=None)
    assert context.metadata.fallback_reason == ""
    assert "Biscuit" in context.added
    assert "Biscuit" in str(context.messages)


@pytest.mark.requirement("SEARCH-2", "BUD-2")
@pytest.mark.parametrize("language", LANGUAGES)
async def test_any_language_is_found_by_asking_in_it_and_counted_right(agent: Agent, language: str) -> None:
    """Kept verbatim, first in rank among messages that share nothing with the question, within its tokens."""
    text, question, answer = LANGUAGES[language]
    noise = [{"role": "user", "content": other} for name, (other, *_) in LANGUAGES.items() if name != language]
    await agent.record([{"id": "m1", "role": "user", "content": text}, *noise], session="s1")
    found = await agent.search(question, 1)
    assert [one.candidate.provenance.message_id for one in found] == ["m1"]
    context = await ask(agent, question, max_tokens=240)
    assert answer in context.added
    assert oracle("o200k")(context.added) <= context.metadata.total_tokens_injected <= 240


async def test_messages_may_be_values_as_well_as_dicts(agent: Agent) -> None:
    """And they may be mixed."""
    await agent.record([Message.of("user", "My greyhound is Biscuit", id="m1", created_at=MOMENT), *ASKED], session="s1")
    assert "m1" in ids(await ask(agent, "greyhound?"))


def naughty() -> list[str]:
    root = Path(os.environ.get("GERMANE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
    file = root / "blns.json"
    return [text for text in json.loads(file.read_text("utf-8")) if text] if file.exists() else []


@pytest.mark.skipif(not naughty(), reason="no blns.json: set GERMANE_DATA to the folder that holds it")
async def test_naughty_strings_go_through_recording_and_asking(agent: Agent) -> None:
    """Each comes back verbatim in the caller's messages, and nothing falls back."""
    strings = naughty()
    await agent.record([{"role": "user", "name": text[:60], "content": text} for text in strings], session="s1")
    for text in strings:
        asked = [{"role": "user", "content": text}]
        context = await agent.assemble(asked, model="gpt-4o", session="s2", deadline=None, max_tokens=400)
        assert context.messages[-1] is asked[0]
        assert (context.metadata.fallback_reason, context.metadata.degradation_level) == ("", 0), (text, context.trace.sources)
        assert oracle("o200k")(context.added) <= 400
