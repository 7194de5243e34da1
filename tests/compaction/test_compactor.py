"""Compactor and recompact: a conversation that grows, one that is edited, and one that the provider has refused."""

from __future__ import annotations

import copy
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from germane.compaction.notes import SpanSummary
from germane.errors import InvalidInput
from germane.integrations import Compactor, MemoryArchive, Truncate, compact, rebuild, recompact
from support.long_talk import in_shape, long_talk
from support.steps import growth

pytestmark = pytest.mark.requirement("HIST-5")

TALK = in_shape(long_talk(60), "openai")


def test_it_gives_what_compact_gives() -> None:
    """After any message."""
    archive = MemoryArchive()
    compactor = Compactor(model="gpt-4o", max_tokens=4_000, archive=archive)
    for count, message in enumerate(TALK, 1):
        compactor.add(message)
        if count % 37 == 0 or count == len(TALK):
            assert compactor.compact() == compact(TALK[:count], model="gpt-4o", max_tokens=4_000, archive=archive)
    assert len(compactor) == len(TALK)


def test_an_edit_is_seen() -> None:
    """Of a message that has left: the work starts again from there. So is one that was removed."""
    compactor = Compactor(model="gpt-4o", max_tokens=4_000, archive=MemoryArchive())
    assert compactor.compact(TALK).summarised > 100
    edited: list[dict[str, Any]] = [*TALK]
    edited[9] = {"role": "user", "content": "Never touch src/b.py."}
    archive = MemoryArchive()
    assert compactor.compact(edited) == compact(edited, model="gpt-4o", max_tokens=4_000, archive=archive)
    assert "Never touch src/b.py." in str(compactor.compact(edited).messages)
    shorter = edited[:50] + edited[58:]
    assert compactor.compact(shorter) == compact(shorter, model="gpt-4o", max_tokens=4_000, archive=archive)
    changed = [dict(message) for message in shorter]
    compactor.compact(changed)
    changed[5]["content"] = "Use tabs."
    assert compactor.compact(changed).tokens_before == compact(changed, model="gpt-4o", max_tokens=4_000).tokens_before


def _marked(talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cache marks on the two newest of the user's messages, as callers of Anthropic set them."""
    newest = [index for index, each in enumerate(talk) if each["role"] == "user"][-2:]
    marked = [copy.deepcopy(each) for each in talk]
    for index in newest:
        content = talk[index]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*content]
        marked[index]["content"] = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
    return marked


@pytest.mark.parametrize("max_tokens", [2_000, 200_000])
def test_what_stays_is_of_the_newest_call(max_tokens: int) -> None:
    """Marks that were moved since don't come back, and a dict that wasn't changed is the caller's newest one."""
    talk = in_shape(long_talk(12), "anthropic")
    compactor = Compactor(model="claude-sonnet-4-5", max_tokens=max_tokens)
    for count in range(1, len(talk) + 1):
        given = _marked(talk[:count])
        found = compactor.compact(given)
        for place, message in zip(found.origins, found.messages, strict=True):
            if place is not None and message == given[place]:
                assert message is given[place]
        assert json.dumps(found.messages).count("cache_control") <= 2
        assert found.messages == compact(given, model="claude-sonnet-4-5", max_tokens=max_tokens).messages


def test_two_threads_compact_at_once() -> None:
    """Each result is that of some moment, and nothing is lost."""
    archive = MemoryArchive()
    compactor = Compactor(model="gpt-4o", max_tokens=4_000, archive=archive)
    compactor.extend(TALK[:200])

    def work(number: int) -> Any:
        if number % 2:
            compactor.add({"role": "user", "content": f"more {number}"})
        return compactor.compact()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(40)))
    assert all(each.fits for each in found)
    assert len(rebuild(compactor.compact().messages, archive)) == len(compactor) == 220


def test_a_message_that_cannot_be_read_is_refused() -> None:
    """The others stay."""
    compactor = Compactor(model="gpt-4o")
    with pytest.raises(InvalidInput, match=r"messages\[1\]"):
        compactor.extend([TALK[0], {"role": "nobody"}])
    assert len(compactor) == 1
    with pytest.raises(InvalidInput, match="messages must be a list"):
        compactor.compact("hi")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "part"),
    [
        ("prompt is too long: 30000 tokens > 20000 maximum", 0.67),
        (
            RuntimeError(
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 16384 tokens."
            ),
            0.5,
        ),
        ({"error": {"message": "The input token count (4000) exceeds the maximum number of tokens allowed (1000)."}}, 0.25),
        ("Input is too long for requested model.", 0.5),
        (None, 0.5),
    ],
)
def test_a_refused_request_is_made_smaller(error: object, part: float) -> None:
    """By the part that the provider's own count asks for; by half where it names none."""
    tokens = compact(TALK, model="gpt-4o").tokens
    again = recompact(error, TALK, model="gpt-4o")
    assert again.fits
    assert again.max_tokens <= part * tokens
    assert again.max_tokens >= 0.9 * part * tokens
    assert again.tokens <= again.max_tokens


def test_a_prepared_summary_takes_the_outlines_place() -> None:
    """The newest one for the boundary, with constraints and ledger beside it; one for another boundary is passed over."""
    begin = [
        {"role": "user", "content": "Don't touch the tests in tests/golden."},
        {"role": "assistant", "content": "I won't."},
    ]
    talk = [*begin, *TALK[1:]]
    plain = compact(talk, model="gpt-4o", max_tokens=4_000)
    assert plain.summary is not None
    covers = plain.summary.covers
    old = SpanSummary(text="Something else.", covers=covers - 4, tokens=3, method="llm")
    mine = SpanSummary(text="The parser was read, file by file.\nIt works.", covers=covers, tokens=12, method="llm")
    compaction = compact(talk, model="gpt-4o", max_tokens=4_000, summaries=[mine, old])
    assert compaction.summary is not None
    assert compaction.summary.method == "llm"
    assert "- The parser was read, file by file.\n- It works." in compaction.summary.text
    assert "touch the tests in tests/golden" in compaction.summary.text
    assert compaction.fits
    huge = SpanSummary(text="word " * 3_000, covers=covers, tokens=3_000, method="llm")
    fallback = compact(talk, model="gpt-4o", max_tokens=4_000, summaries=[huge])
    assert fallback.summary is not None
    assert fallback.summary.method == "extractive"
    assert "doesn't fit" in fallback.summary.note


def test_the_trace_says_when_a_move_has_paid() -> None:
    """By the catalog's prices; nothing for a model without a price."""
    trace = compact(TALK, model="claude-sonnet-4-5", provider="openai", max_tokens=8_000).trace
    assert trace.pays_after is not None
    assert trace.pays_after == pytest.approx(trace.cache_lost_tokens * (3.75 - 0.3) / (trace.saved_tokens * 0.3))
    assert compact(TALK, model="nobodys-model", max_tokens=8_000).trace.pays_after is None


def test_plain_truncation_still_keeps_what_the_user_demanded() -> None:
    """Through any number of compactions."""
    talk: list[Any] = [{"role": "user", "content": "Never deploy on Fridays."}, *TALK[1:]]
    for _ in range(4):
        talk = compact(talk, model="gpt-4o", max_tokens=3_000, strategy=Truncate()).messages
        assert "Never deploy on Fridays." in str(talk[0])
        talk = [*talk, *TALK[1:]]


@pytest.mark.requirement("HIST-1", "HIST-5")
@pytest.mark.parametrize("named", [True, False])
def test_the_prefix_of_a_group_chat_changes_as_seldom_as_that_of_another_conversation(named: bool) -> None:
    """Where nobody but users speaks, the oldest messages leave many at a time, as everywhere."""

    def moves(roles: tuple[str, str]) -> int:
        compactor, before, changed = Compactor(model="gpt-4o", max_tokens=1_200), "", 0
        for number in range(300):
            message = {"role": roles[number % 2], "content": f"message number {number} of this chat about the trip"}
            compactor.add(message | {"name": f"person{number % 4}"} if named and message["role"] == "user" else message)
            if number % 10 == 9:
                now = repr(compactor.compact().messages[:2])
                before, changed = now, changed + (now != before)
        return changed

    assert moves(("user", "user")) <= moves(("user", "assistant")) + 3 < 15


@pytest.mark.requirement("LIMITS-2")
@pytest.mark.parametrize("of", ["users", "open calls", "a budget for none"])
def test_a_conversation_that_compacts_nowhere_well_takes_linear_time(of: str) -> None:
    """Not with each message anew, where all must stay; and each move costs what it moves."""

    def made(n: int) -> None:
        compactor = Compactor(model="gpt-4o", max_tokens=60 if of == "a budget for none" else 200)
        for number in range(n):
            call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            if of != "open calls":
                compactor.add({"role": "user", "content": f"hi {number}"})
            elif number % 2:
                compactor.add({"role": "assistant", "content": None, "tool_calls": [call]})
            else:
                compactor.add({"role": "assistant", "content": "I look."})
        compactor.compact()

    assert growth(made, 60) < 6
