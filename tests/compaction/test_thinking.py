"""Thinking: what Anthropic has bound to what stood before it goes with a move of the boundaries, and only then (HIST-5)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from germane.dialects.opaque import unbound
from germane.integrations import Compactor, MemoryArchive, Truncate, compact, rebuild
from germane_testing.validators import validate, validate_against

pytestmark = pytest.mark.requirement("HIST-5")

Raw = dict[str, Any]
MODEL = "claude-fable-5-1"


def thought(number: int, words: int = 20) -> Raw:
    return {"type": "thinking", "thinking": f"thought {number} " * words, "signature": f"c2ln{number}"}


def turn(number: int, words: int = 30) -> Iterator[Raw]:
    """The user asks, the assistant thinks and calls a tool, thinks again, and answers."""
    use = {"type": "tool_use", "id": f"t{number}", "name": "run", "input": {"n": number}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"line {number} " * words}
    yield {"role": "user", "content": f"Question {number}?"}
    yield {"role": "assistant", "content": [thought(2 * number), use]}
    yield {"role": "user", "content": [result]}
    hidden = {"type": "redacted_thinking", "data": f"ZGF0YQ{number}"}
    yield {"role": "assistant", "content": [thought(2 * number + 1), hidden, {"type": "text", "text": f"Answer {number}."}]}


TALK = [each for number in range(25) for each in turn(number)]


def thinking(messages: list[Any]) -> list[str]:
    blocks = (block for each in messages if isinstance(each["content"], list) for block in each["content"])
    return [json.dumps(block) for block in blocks if block["type"] in ("thinking", "redacted_thinking")]


def cut(talk: list[Raw], most: int, **more: Any) -> Any:
    return compact(talk, model=MODEL, max_tokens=most, **more)


@pytest.mark.parametrize("most", [900, 1_500, 3_000])
def test_no_block_stands_behind_a_prefix_that_it_was_not_made_behind(most: int) -> None:
    """Played as the provider would check it: each answer's blocks are bound to the request that they came of."""
    made: dict[str, str] = {}
    kept = 0
    for count, message in enumerate(TALK):
        if message["role"] == "assistant":
            before = cut(TALK[:count], most).messages
            made |= {block: json.dumps(before) for block in thinking([message])}
        sent = cut(TALK[: count + 1], most).messages
        for place, each in enumerate(sent):
            for block in thinking([each]):
                kept += 1
                assert made[block] == json.dumps(sent[:place]), (count, place)
    assert kept > 50


@pytest.mark.parametrize("strategy", [None, Truncate()])
def test_what_goes_is_no_violation_and_fits(strategy: Any) -> None:
    """Whole blocks; what was made after the newest move is unchanged."""
    for most in (400, 800, 1_600):
        for count in range(1, len(TALK) + 1, 7):
            found = cut(TALK[:count], most, **({} if strategy is None else {"strategy": strategy}))
            assert validate(found.messages, "anthropic") == ()
            assert validate_against(TALK[:count], found.messages, "anthropic") == ()
            assert found.tokens <= most or not found.fits
            assert set(thinking(found.messages)) <= set(thinking(TALK))


def test_between_two_moves_the_beginning_is_the_same() -> None:
    """Byte for byte, and a compactor gives what `compact` gives."""
    compactor = Compactor(model=MODEL, max_tokens=2_000)
    before, moves = cut(TALK[:1], 2_000), 0
    for count in range(2, len(TALK) + 1):
        found = cut(TALK[:count], 2_000)
        if count % 4 == 2:
            continue  # the call waits for its result
        if found.trace.moves == before.trace.moves:
            assert json.dumps(found.messages[: len(before.messages)]) == json.dumps(before.messages)
        else:
            moves += 1
        assert json.dumps(compactor.compact(TALK[:count]).messages) == json.dumps(found.messages)
        before = found
    assert 2 <= moves <= len(TALK) // 6


def test_thinking_that_has_gone_makes_room() -> None:
    """Where thinking alone is what is too much, no output is masked and no exchange leaves."""
    talk: list[Raw] = [*TALK[:8]]
    talk[1] = {**TALK[1], "content": [thought(0, 200), *TALK[1]["content"][1:]]}
    found = cut(talk, 1_250)
    assert found.trace.moves == 1
    assert (found.masked, found.summarised, found.dropped) == (0, 0, 0)
    assert thinking(found.messages) == thinking(talk[2:])
    assert found.fits


def test_a_model_without_preserved_thinking_keeps_what_it_thought() -> None:
    """With a thinking budget the API demands that the running turn begins with thinking where it has called a tool."""
    for count in range(2, len(TALK) + 1):
        talk = TALK[:count]
        if talk[-1]["role"] == "assistant":
            continue
        found = compact(talk, model="claude-sonnet-4-5", max_tokens=900)
        assert validate(found.messages, "anthropic", thinking=True) == ()
        assert validate_against(talk, found.messages, "anthropic") == ()
        stand = [each for each in talk if each in found.messages and each["role"] == "assistant"]
        assert thinking(found.messages) == thinking(stand)
    assert found.trace.moves > 2


def test_only_anthropic_binds_what_is_thought() -> None:
    """What another provider takes is not touched, and a message of nothing but thinking is left out whole."""
    reasoning = [{"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "e"} for n in range(9)]
    talk: list[Raw] = []
    for number, item in enumerate(reasoning):
        talk += [{"role": "user", "content": "word " * 40}, item, {"role": "assistant", "content": f"so {number}"}]
    left = compact(talk, model="gpt-5", provider="openai-responses", max_tokens=300).messages
    assert [each for each in left if each.get("type") == "reasoning"]
    alone: list[Raw] = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [thought(0)]}, *TALK[:40]]
    found = cut(alone, 2_000)
    assert found.trace.moves
    assert validate(found.messages, "anthropic") == ()


def test_it_is_rebuilt_but_for_thinking_of_what_stays() -> None:
    """What has left comes back whole."""
    archive = MemoryArchive()
    found = cut(TALK, 3_000, archive=archive)
    whole = rebuild(found.messages, archive, provider="anthropic")
    assert [unbound(each) for each in whole] == [unbound(each) for each in TALK]
    assert found.trace.covered_before
    assert whole[: found.trace.covered_before] == TALK[: found.trace.covered_before]
