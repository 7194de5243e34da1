"""Request bodies: the arguments of each provider's SDK, and where Anthropic's cache marks stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.anthropic_check import BREAKPOINTS, faults
from germane.dialects.registry import RequestBody, body_of
from germane.types.message import Wire

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
USER = {"role": "user", "content": "Has it been sent?"}
TALK: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, USER]
TOOLS: list[dict[str, Any]] = [
    {"name": "a", "input_schema": {"type": "object"}},
    {"name": "b", "input_schema": {"type": "object"}},
]


def body(provider: str = "anthropic", wire: Wire | None = None, tools: Any = TOOLS, model: str = "m") -> RequestBody:
    wire = wire or Wire(messages=TALK)
    return body_of(provider, model=model, wire=wire, system=("stable", "changing"), tools=tools, max_output=9)


def marks(value: Any) -> Iterator[dict[str, Any]]:
    """Every cache mark inside, in the order of the prefix."""
    if isinstance(value, dict):
        yield from (value["cache_control"],) if "cache_control" in value else ()
        for inner in value.values():
            yield from marks(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from marks(inner)


@pytest.mark.requirement("BUILD-1")
def test_marks_stand_after_tools_instructions_and_history() -> None:
    """And the caller's own dicts stay as they are."""
    built = body()
    assert built.kwargs["tools"] == [TOOLS[0], {**TOOLS[1], **MARK}]
    assert built.kwargs["system"] == [{"type": "text", "text": "stable", **MARK}, {"type": "text", "text": "changing"}]
    assert built.kwargs["messages"][1] == {"role": "assistant", "content": [{"type": "text", "text": "Hello", **MARK}]}
    assert set(built.marked) == {"tools", "instructions", "history"}
    assert (TALK[1], "cache_control" in TOOLS[1]) == ({"role": "assistant", "content": "Hello"}, False)


def test_the_callers_marks_count_and_stay() -> None:
    """No more than four in all; where it marked tools or messages itself, those are the places."""
    marked = [{"role": "user", "content": [{"type": "text", "text": str(n), **MARK}]} for n in range(3)]
    built = body(wire=Wire(messages=[*marked, *TALK[1:]]))
    assert len(list(marks(built.kwargs))) == BREAKPOINTS
    assert set(built.marked) == {"instructions", "history"}
    own = body(tools=[{**TOOLS[0], **MARK}, TOOLS[1]])
    assert own.kwargs["tools"] == [{**TOOLS[0], **MARK}, TOOLS[1]]
    assert "tools" in own.marked


def test_a_mark_of_an_hour_has_none_of_five_minutes_before_it() -> None:
    """The API refuses that."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "x", **LONG}]}]
    built = body(wire=Wire(messages=messages))
    assert {mark.get("ttl") for mark in marks(built.kwargs)} == {"1h"}


def test_a_deferred_tool_gets_no_mark() -> None:
    """The last one that is loaded does."""
    built = body(tools=[TOOLS[0], {**TOOLS[1], "defer_loading": True}])
    assert built.kwargs["tools"] == [{**TOOLS[0], **MARK}, {**TOOLS[1], "defer_loading": True}]


@given(number=st.integers(0, 5), roles=st.lists(st.sampled_from(["user", "assistant"]), max_size=6), long=st.booleans())
def test_no_request_has_too_many_marks(number: int, roles: list[str], long: bool) -> None:
    """Unless the caller set too many itself."""
    block: dict[str, Any] = {"type": "text", "text": "x"}
    talk: list[dict[str, Any]] = [{"role": "user", "content": "x"}, *({"role": role, "content": [block]} for role in roles)]
    talk += [{"role": "user", "content": [{**block, **(LONG if long else MARK)}]} for _ in range(number)]
    built = body(wire=Wire(messages=talk, system=[block]))
    assert len(list(marks(built.kwargs))) <= max(number, BREAKPOINTS)
    found = [*faults(Wire(messages=built.kwargs["messages"], system=built.kwargs["system"]))]
    assert number > BREAKPOINTS or not any(fault.rule == "cache-marks" for fault in found)


@pytest.mark.requirement("BUILD-1")
def test_the_other_providers_take_the_parts_where_they_want_them() -> None:
    """The conversation's own system text comes last."""
    wire = Wire(messages=TALK, system="own")
    responses = body("openai-responses", wire, [{"type": "function", "name": "a"}]).kwargs
    assert responses["instructions"] == "stable\n\nchanging\n\nown"
    assert (responses["input"], responses["max_output_tokens"]) == (TALK, 9)
    gemini = body("gemini", wire, []).kwargs
    assert gemini["config"] == {
        "system_instruction": {"parts": [{"text": "stable"}, {"text": "changing"}, {"text": "own"}]},
        "max_output_tokens": 9,
    }
    chat = body("openai", Wire(messages=TALK), [], "vendor/gpt-4o").kwargs
    assert chat["messages"] == [{"role": "system", "content": "stable\n\nchanging"}, *TALK]
    assert "tools" not in chat
    assert chat["max_completion_tokens"] == body("openai", Wire(messages=TALK), [], "llama-3.3").kwargs["max_tokens"] == 9


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
def test_nothing_to_say_gives_no_system_prompt(provider: str) -> None:
    """Not even an empty one."""
    built = body_of(provider, model="m", wire=Wire(messages=TALK), system=("", " "), tools=(), max_output=9)
    assert built.system is None
    assert not {"system", "instructions", "tools"} & built.kwargs.keys()
