"""Compact: the order of means, what is never lost, and the prefix that stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from germane.compaction.reading.results import OutputFacts, facts_of
from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.dialects.registry import dialect
from germane.errors import InvalidInput
from germane.integrations import Compaction, Compactor, MemoryArchive, compact, rebuild
from germane.types.message import Message, ToolResult, Wire
from support.long_talk import in_shape, long_talk, tool_turns

pytestmark = pytest.mark.requirement("HIST-5")

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro", "openai-responses": "gpt-5"}
STRATEGIES: list[CompactionStrategy] = [Summarise(), Truncate(), Importance(), TimeDecay()]


def written(compaction: Compaction) -> str:
    return json.dumps(compaction.messages, ensure_ascii=False)


def check(compaction: Compaction) -> None:
    wire = Wire(messages=compaction.messages, system=compaction.system)
    assert dialect(compaction.provider).problems(wire) == ()
    assert compaction.fits
    assert compaction.tokens <= compaction.max_tokens


def test_a_conversation_that_fits_stays_as_it_is() -> None:
    """The same dicts."""
    talk = in_shape(long_talk(3), "openai")
    compaction = compact(talk, model="gpt-4o")
    assert not compaction.compacted
    assert all(given is kept for given, kept in zip(talk, compaction.messages, strict=True))
    assert compaction.tokens == compaction.tokens_before
    assert compaction.entries == {}


@pytest.mark.parametrize("provider", MODELS)
def test_old_outputs_are_masked_first(provider: str) -> None:
    """Nothing leaves while masking is enough; the newest outputs stay; what wasn't changed are the same dicts."""
    talk = in_shape(long_talk(14), provider)
    archive = MemoryArchive()
    tokens = compact(talk, model=MODELS[provider], provider=provider).tokens
    compaction = compact(talk, model=MODELS[provider], provider=provider, max_tokens=int(tokens * 0.9), archive=archive)
    check(compaction)
    assert 0 < compaction.masked <= 8
    assert compaction.summarised == compaction.dropped == 0
    assert len(compaction.messages) == len(talk)
    assert sum(given is kept for given, kept in zip(talk, compaction.messages, strict=True)) == len(talk) - compaction.masked
    assert rebuild(compaction.messages, archive, provider=provider) == talk


def test_a_masked_output_is_one_line_with_a_handle() -> None:
    """The handle is cited, and the archive has the message."""
    archive = MemoryArchive()
    talk = in_shape(long_talk(14), "openai")
    compaction = compact(talk, model="gpt-4o", max_tokens=5_500, archive=archive)
    line = compaction.messages[3]["content"]
    assert line == f"[Tool output left out: 361 tokens; show_earlier handle {compaction.cited[0]}]"
    assert all(archive.get(handle) is not None for handle in compaction.cited)
    plain = compact(talk, model="gpt-4o", max_tokens=5_500)
    assert plain.messages[3]["content"] == "[Tool output left out: 361 tokens]"
    assert plain.cited == ()


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_then_the_oldest_leave_behind_a_summary(provider: str, strategy: CompactionStrategy) -> None:
    """Constraints and the newest exchange stay, whatever the strategy; the archive has all."""
    begin = Message.of("user", "Fix the parser. Don't touch the tests in tests/golden, whatever happens.")
    talk = in_shape([*long_talk(0), begin, Message.of("assistant", "I won't."), *long_talk(120)[1:]], provider)
    archive = MemoryArchive()
    compaction = compact(talk, model=MODELS[provider], provider=provider, max_tokens=6_000, strategy=strategy, archive=archive)
    check(compaction)
    assert compaction.summarised + compaction.dropped > 100
    assert "touch the tests in tests/golden" in written(compaction)
    assert all(any(kept is given for kept in compaction.messages) for given in talk[-4:])
    assert rebuild(compaction.messages, archive, provider=provider) == talk


def test_the_summary_stands_behind_the_system_messages() -> None:
    """As a user's message, delimited, with the newest handle."""
    talk = in_shape(long_talk(60), "openai")
    compaction = compact(talk, model="gpt-4o", max_tokens=3_000, archive=MemoryArchive())
    assert compaction.messages[0] is talk[0]
    block = compaction.messages[1]
    assert block["role"] == "user"
    assert block["content"].startswith(f'<conversation-summary messages="{compaction.summarised}" kept="0" handle="h')
    assert "\nWhat happened, the newest last:\n- " in block["content"]
    assert block["content"].endswith("\n</conversation-summary>")
    assert compaction.cited[0] in block["content"]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_the_prefix_stays_until_the_boundaries_move(strategy: CompactionStrategy) -> None:
    """Message by message: between two moves, what was sent is the beginning of what is sent next."""
    talk = in_shape(long_talk(50), "openai")
    before: list[Any] = []
    moves = changes = 0
    for count in range(100, len(talk) + 1):
        compaction = compact(talk[:count], model="gpt-4o", max_tokens=4_000, strategy=strategy)
        assert compaction.fits
        if compaction.messages[: len(before)] != before:
            changes += 1
            assert compaction.trace.moves > moves
        before, moves = compaction.messages[:-1], compaction.trace.moves
    assert 3 <= changes <= 40


def test_the_running_exchange_is_untouched_while_it_fits() -> None:
    """Of one that is larger than the budget, older outputs are masked, then older groups leave, and the words stay."""
    talk = in_shape([*long_talk(10), *tool_turns(99, 5, words=60)[:-1]], "openai")
    compaction = compact(talk, model="gpt-4o", max_tokens=4_500)
    check(compaction)
    assert all(any(kept is given for kept in compaction.messages) for given in talk[-11:])
    alone = in_shape(long_talk(1, 60), "openai")[:-1]
    masked = compact(alone, model="gpt-4o", max_tokens=9_000)
    check(masked)
    assert masked.masked > 10
    assert masked.summarised == 0
    less = compact(alone, model="gpt-4o", max_tokens=3_000)
    check(less)
    assert less.summarised > 50
    assert less.messages[0] is alone[0]
    assert less.messages[2] is alone[1]
    assert less.messages[-2:] == alone[-2:]


def test_an_open_call_never_leaves() -> None:
    """A call without its result, a job that goes on, and a confirmation that nobody has given."""
    call = {"id": "c", "type": "function", "function": {"name": "deploy", "arguments": "{}"}}
    began: list[dict[str, Any]] = [
        {"role": "user", "content": "Deploy it in the background."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": '{"status": "running", "task_id": "t-77"}'},
    ]
    compaction = compact([*began, *in_shape(long_talk(60)[1:], "openai")], model="gpt-4o", max_tokens=3_000)
    check(compaction)
    assert compaction.summarised > 100
    assert any(message is began[2] for message in compaction.messages)
    ended = [{"role": "tool", "tool_call_id": "c", "content": '{"status": "done", "task_id": "t-77"}'}]
    compaction = compact([*began[:2], *ended, *in_shape(long_talk(60)[1:], "openai")], model="gpt-4o", max_tokens=3_000)
    assert not any(message is ended[0] for message in compaction.messages)


def test_what_cannot_fit_is_said() -> None:
    """A window smaller than the last message: it isn't cut."""
    last = {"role": "user", "content": "word " * 500}
    compaction = compact([*in_shape(long_talk(5), "openai"), last], model="gpt-4o", max_tokens=100)
    assert not compaction.fits
    assert compaction.messages[-1] is last
    assert compaction.trace.reasons
    assert "of 100" in compaction.trace.reasons[-1]


def test_more_constraints_than_fit_are_said() -> None:
    """The newest stay, within the budget; the others are in the archive."""
    talk = [
        {"role": role, "content": text}
        for number in range(200)
        for role, text in (
            ("user", f"Never change src/part_{number}.py, whatever happens."),
            ("assistant", "I won't."),
        )
    ]
    archive = MemoryArchive()
    compaction = compact(talk, model="gpt-4o", max_tokens=1_500, archive=archive)
    assert not compaction.fits
    assert compaction.tokens <= 1_500
    assert "constraints don't fit" in compaction.trace.reasons[0]
    assert "part_150.py" in written(compaction)
    assert rebuild(compaction.messages, archive) == talk
    assert compact(talk, model="gpt-4o", max_tokens=6_000).fits


def test_a_number_of_messages_is_kept() -> None:
    """`max_messages` and `keep_recent`."""
    talk = in_shape(long_talk(60), "openai")
    assert 10 <= len(compact(talk, model="gpt-4o", max_messages=40).messages) <= 42
    truncated = compact(talk, model="gpt-4o", strategy=Truncate(keep_recent=40))
    assert 10 <= len(truncated.messages) <= 42
    assert truncated.dropped > 100
    assert truncated.summary is None


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls whose outputs were read, in the order in which they were."""
    found: list[str] = []

    def noted(result: ToolResult) -> OutputFacts:
        found.append(result.call_id)
        return facts_of(result)

    monkeypatch.setattr("germane.compaction.message_cost.facts_of", noted)
    return found


def test_of_too_many_messages_the_oldest_leave_and_nothing_need_be_masked(read: list[str]) -> None:
    """One move takes the number down to a third, and the tokens below their low-water mark with it: what stays is whole."""
    talk = in_shape(long_talk(10), "openai")
    tokens = compact(talk, model="gpt-4o").tokens
    compaction = compact(talk, model="gpt-4o", max_tokens=int(tokens * 1.05), strategy=Truncate(keep_recent=39, keep_outputs=0))
    assert (compaction.trace.moves, compaction.dropped, compaction.masked) == (1, 28, 0)
    assert compaction.messages == [talk[0], *talk[29:]]
    assert read == []


def test_an_output_is_read_when_a_boundary_comes_to_it(read: list[str]) -> None:
    """Not while the conversation fits, and once."""
    talk = in_shape(long_talk(14), "openai")
    compactor = Compactor(model="gpt-4o", max_tokens=5_500)
    compactor.extend(talk[:30])
    compactor.compact()
    assert read == []
    compactor.extend(talk[30:])
    compaction = compactor.compact()
    compactor.compact()
    assert 0 < compaction.masked <= len(read) <= 8
    assert read == [f"call_{number}_0" for number in range(len(read))]


def test_the_most_important_exchanges_stay() -> None:
    """An early one with constraints and decisions, before newer ones without."""
    begin = in_shape(
        [
            Message.of("user", "We decided to use Postgres. Never change the schema. Always run the linter."),
            Message.of("assistant", "Decided: Postgres, no changes of the schema."),
        ],
        "openai",
    )
    talk = [*begin, *in_shape(long_talk(60)[1:], "openai")]
    strategy = Importance(keep_recent=2, keep_important=2)
    compaction = compact(talk, model="gpt-4o", max_tokens=8_000, strategy=strategy, archive=(archive := MemoryArchive()))
    check(compaction)
    assert compaction.messages[1:3] == begin
    assert rebuild(compaction.messages, archive) == talk
    decayed = compact(talk, model="gpt-4o", max_tokens=8_000, strategy=TimeDecay(half_life=1e6))
    assert decayed.messages[1:3] == begin


def test_orphans_are_closed_as_text_and_listed() -> None:
    """A result without its call at the start, a call without its result, an id used twice."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    talk: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "x", "content": "late"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "and?"},
    ]
    compaction = compact(talk, model="gpt-4o")
    check(compaction)
    assert compaction.quarantined == (0, 2)
    assert compaction.messages[1] is talk[1]


def test_a_system_prompt_apart_counts_and_comes_back() -> None:
    """As it was given; messages of the system go with it where the provider has one place for both."""
    talk = in_shape(long_talk(30), "anthropic")
    blocks = [{"type": "text", "text": "Be brief. " * 100, "cache_control": {"type": "ephemeral"}}]
    compaction = compact(talk, model="claude-sonnet-4-5", system=blocks, max_tokens=6_000)
    assert compaction.system is blocks
    assert compaction.tokens > compact(talk, model="claude-sonnet-4-5", max_tokens=6_000 - 300).tokens - 1_000
    both = compact([{"role": "system", "content": "Be kind."}, *talk], model="claude-sonnet-4-5", system="Be brief.")
    assert both.system == "Be brief.\n\nBe kind."
    assert compact([{"role": "user", "content": "hi"}], model="gpt-4o", system="Be brief.").system == "Be brief."


def test_nothing_and_little() -> None:
    """An empty conversation, only system messages, and a model that nobody knows."""
    assert compact([], model="gpt-4o").messages == []
    system = [{"role": "system", "content": "Be brief."}]
    assert compact(system, model="gpt-4o").messages == system
    unknown = compact(in_shape(long_talk(300), "openai"), model="nobodys-model-7")
    check(unknown)
    assert unknown.compacted
    assert unknown.max_tokens < 8_192


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"model": ""}, "model"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"provider": "nobody"}, "provider"),
        ({"strategy": "summarise"}, "strategy"),
        ({"low_water": 2}, "low_water"),
        ({"max_messages": 0}, "max_messages"),
        ({"tools": "none"}, "tools"),
        ({"tools": [3]}, r"tools\[0\]"),
        ({"system": 3}, "system"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "nobody", "content": "hi"}]}, r"messages\[0\]"),
    ],
)
def test_an_argument_that_cannot_be_used_is_named(wrong: dict[str, Any], said: str) -> None:
    """In one sentence that says what to give."""
    arguments: dict[str, Any] = {"messages": [], "model": "gpt-4o", **wrong}
    with pytest.raises(InvalidInput, match=said):
        compact(arguments.pop("messages"), **arguments)
