"""Each rule of the validators has a conversation that breaks it, and a sound conversation breaks none."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import germane.dialects.anthropic_check
import germane.dialects.gemini
import germane.dialects.openai_chat
import germane.dialects.openai_responses
from germane.dialects.dialect import RULES as REQUEST_RULES
from germane.errors import UnknownName
from germane.types.message import Message, ToolCall
from germane_testing.validators import COMPACTION_RULES, RULES, validate, validate_against

pytestmark = pytest.mark.requirement("HIST-4", "HIST-5")

Raw = dict[str, Any]
CHECKS = {
    "openai": germane.dialects.openai_chat,
    "anthropic": germane.dialects.anthropic_check,
    "gemini": germane.dialects.gemini,
    "openai-responses": germane.dialects.openai_responses,
}
USER: Raw = {"role": "user", "content": "hi"}
TEXT: Raw = {"type": "text", "text": "so"}
THINKING: Raw = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
MARKED: Raw = {**TEXT, "cache_control": {"type": "ephemeral"}}
SEARCH: Raw = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}


def asked(*ids: str, **function: Any) -> Raw:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}", **function}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def told(id: str) -> Raw:
    return {"role": "tool", "tool_call_id": id, "content": "r"}


def use(id: str, **fields: Any) -> Raw:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}, **fields}


def result(id: str, **fields: Any) -> Raw:
    return {"type": "tool_result", "tool_use_id": id, "content": "r", **fields}


def claude(*blocks: Raw) -> Raw:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Raw) -> Raw:
    return {"role": "user", "content": list(blocks)}


PROMPT: Raw = {"role": "user", "parts": [{"text": "hi"}]}


def model(*parts: Raw) -> Raw:
    return {"role": "model", "parts": list(parts)}


def calling(name: str = "f", **part: Any) -> Raw:
    return {"functionCall": {"name": name, "args": {}}, **part}


def answer(name: str = "f", **fields: Any) -> Raw:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}, **fields}}]}


REASONING: Raw = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}


def call(call_id: str, **fields: Any) -> Raw:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **fields}


def output(call_id: str, **fields: Any) -> Raw:
    return {"type": "function_call_output", "call_id": call_id, "output": "r", **fields}


BREAKING: dict[tuple[str, str], Callable[[], tuple[list[Raw], Any]]] = {
    ("openai", "arguments"): lambda: ([USER, asked("a", arguments={}), told("a")], None),
    ("openai", "call-id"): lambda: ([USER, asked("x" * 41), told("x" * 41)], None),
    ("openai", "call-name"): lambda: ([USER, asked("a", name="a b"), told("a")], None),
    ("openai", "call-place"): lambda: ([{**USER, "tool_calls": asked("a")["tool_calls"]}], None),
    ("openai", "call-without-result"): lambda: ([USER, asked("a", "b"), told("a"), USER], None),
    ("openai", "content-type"): lambda: ([{"role": "user", "content": 5}], None),
    ("openai", "duplicate-call-id"): lambda: ([USER, asked("a", "a"), told("a")], None),
    ("openai", "key"): lambda: ([{**USER, "id": "1"}], None),
    ("openai", "name"): lambda: ([{**USER, "name": "Ann Lee"}], None),
    ("openai", "no-calls"): lambda: ([USER, {**asked(), "content": "x"}], None),
    ("openai", "no-content"): lambda: ([{"role": "user", "content": []}], None),
    ("openai", "no-messages"): lambda: ([], None),
    ("openai", "part-shape"): lambda: ([user({"type": "text"})], None),
    ("openai", "part-type"): lambda: ([user({"type": "image", "source": {}})], None),
    ("openai", "result-without-call"): lambda: ([USER, told("a")], None),
    ("openai", "role"): lambda: ([{"role": "model", "content": "x"}], None),
    ("openai", "system-place"): lambda: ([USER], "You are kind."),
    ("anthropic", "arguments"): lambda: ([USER, claude(use("a", input=[])), user(result("a"))], None),
    ("anthropic", "cache-marks"): lambda: ([user(MARKED, MARKED, MARKED)], [MARKED, MARKED]),
    ("anthropic", "call-id"): lambda: ([USER, claude(use("a b")), user(result("a b"))], None),
    ("anthropic", "call-without-result"): lambda: ([USER, claude(use("a"), use("b")), user(result("a"))], None),
    ("anthropic", "content-type"): lambda: ([USER, claude(use("a")), user(result("a", content=5))], None),
    ("anthropic", "duplicate-call-id"): lambda: (
        [USER, claude(use("a")), user(result("a")), claude(use("a")), user(result("a"))],
        None,
    ),
    ("anthropic", "empty-text"): lambda: ([{"role": "user", "content": " "}], None),
    ("anthropic", "first-turn"): lambda: ([claude(TEXT)], None),
    ("anthropic", "key"): lambda: ([{**USER, "name": "Ann"}], None),
    ("anthropic", "no-content"): lambda: ([user()], None),
    ("anthropic", "no-messages"): lambda: ([], None),
    ("anthropic", "part-shape"): lambda: ([USER, claude({"type": "thinking", "thinking": "hm"}, TEXT)], None),
    ("anthropic", "part-type"): lambda: ([user(THINKING, TEXT)], None),
    ("anthropic", "result-order"): lambda: ([USER, claude(use("a")), user(TEXT, result("a"))], None),
    ("anthropic", "result-without-call"): lambda: ([user(result("a"))], None),
    ("anthropic", "role"): lambda: ([USER, {"role": "tool", "content": "x"}], None),
    ("anthropic", "server-pair"): lambda: ([USER, claude(SEARCH), USER], None),
    ("anthropic", "system-empty"): lambda: ([USER], ""),
    ("anthropic", "system-part"): lambda: ([USER], [{"type": "image"}]),
    ("anthropic", "system-place"): lambda: ([{"role": "system", "content": "x"}, USER], None),
    ("anthropic", "thinking-last"): lambda: ([USER, claude(TEXT, THINKING), USER], None),
    ("anthropic", "trailing-space"): lambda: ([USER, {"role": "assistant", "content": "so "}], None),
    ("gemini", "arguments"): lambda: ([PROMPT, model(calling()), answer(response="r")], None),
    ("gemini", "call-id"): lambda: ([PROMPT, model(calling()), answer(id="x")], None),
    ("gemini", "call-name"): lambda: ([PROMPT, model(calling("a b")), answer("a b")], None),
    ("gemini", "call-without-result"): lambda: ([PROMPT, model(calling(), calling("g")), answer("g")], None),
    ("gemini", "empty-text"): lambda: ([{"role": "user", "parts": [{"text": ""}]}], None),
    ("gemini", "first-turn"): lambda: ([model({"text": "so"})], None),
    ("gemini", "key"): lambda: ([{**PROMPT, "id": "1"}], None),
    ("gemini", "no-content"): lambda: ([{"role": "user", "parts": []}], None),
    ("gemini", "no-messages"): lambda: ([], None),
    ("gemini", "part-shape"): lambda: ([{"role": "user", "parts": [{"text": "a", "inlineData": {"mimeType": "a/b"}}]}], None),
    ("gemini", "part-type"): lambda: ([{"role": "user", "parts": [calling()]}], None),
    ("gemini", "result-without-call"): lambda: ([answer()], None),
    ("gemini", "role"): lambda: ([PROMPT, {"role": "assistant", "parts": [{"text": "so"}]}], None),
    ("gemini", "signature-missing"): lambda: (
        [PROMPT, model(calling()), answer(), model(calling(thoughtSignature="s")), answer()],
        None,
    ),
    ("gemini", "system-empty"): lambda: ([PROMPT], " "),
    ("gemini", "system-part"): lambda: ([PROMPT], [{"text": ""}]),
    ("openai-responses", "call-id"): lambda: ([USER, call("x" * 65), output("x" * 65)], None),
    ("openai-responses", "call-name"): lambda: ([USER, call("a", name="a b"), output("a")], None),
    ("openai-responses", "call-without-result"): lambda: ([USER, call("a"), USER], None),
    ("openai-responses", "content-type"): lambda: ([USER, call("a"), output("a", output={})], None),
    ("openai-responses", "duplicate-call-id"): lambda: ([USER, call("a"), output("a"), call("a"), output("a")], None),
    ("openai-responses", "duplicate-item-id"): lambda: (
        [USER, call("a", id="fc_1"), output("a"), call("b", id="fc_1"), output("b")],
        None,
    ),
    ("openai-responses", "item-field"): lambda: ([USER, {"type": "compaction", "id": "cmp_1"}], None),
    ("openai-responses", "item-type"): lambda: ([USER, {"content": "x"}], None),
    ("openai-responses", "key"): lambda: ([{**USER, "name": "Ann"}], None),
    ("openai-responses", "no-content"): lambda: ([user()], None),
    ("openai-responses", "no-messages"): lambda: ([], None),
    ("openai-responses", "part-shape"): lambda: ([user({"type": "input_text"})], None),
    ("openai-responses", "part-type"): lambda: ([user(TEXT)], None),
    ("openai-responses", "reasoning-alone"): lambda: ([USER, REASONING, USER], None),
    ("openai-responses", "result-without-call"): lambda: ([USER, call("a"), output("a"), output("b")], None),
    ("openai-responses", "role"): lambda: ([{"role": "tool", "content": "x"}], None),
    ("openai-responses", "system-empty"): lambda: ([USER], ""),
}
"""For each API and rule, messages and system prompt that break it."""


@pytest.mark.parametrize(("provider", "rule"), BREAKING)
def test_the_rule_fires(provider: str, rule: str) -> None:
    """The violation says what is wrong, under the rule's name, and where it is one message's with its index."""
    messages, system = BREAKING[provider, rule]()
    found = [violation for violation in validate(messages, provider, system=system) if violation.rule == rule]
    assert found
    assert all(each.index is None or f" {each.index}:" in each.message or "first" in rule for each in found)
    assert str(found[0]) == f"{rule}: {found[0].message}"


def names_of_faults(tree: ast.Module) -> set[str]:
    """The names that a check gives to faults: what begins a tuple or a `Fault`, and what a name is chosen from."""
    found: set[str] = set()
    for node in ast.walk(tree):
        firsts: list[ast.expr] = []
        if isinstance(node, ast.Tuple):
            firsts = node.elts[:1]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Fault":
            firsts = node.args[:1]
        elif isinstance(node, ast.IfExp):
            firsts = [node.body, node.orelse]
        found |= {first.value for first in firsts if isinstance(first, ast.Constant) and isinstance(first.value, str)}
    return found & set(REQUEST_RULES)


def test_no_rule_of_an_api_is_without_a_conversation_that_breaks_it() -> None:
    """The rules of an API are the names that its check gives to faults."""
    rules = {
        (provider, rule)
        for provider, module in CHECKS.items()
        for rule in names_of_faults(ast.parse(Path(str(module.__file__)).read_text("utf-8")))
    }
    assert rules == set(BREAKING)
    assert {rule for _, rule in BREAKING} == set(REQUEST_RULES)


LAST: Raw = {"role": "user", "content": "and now?"}
WHOLE: list[Raw] = [
    {"role": "system", "content": "You are kind."},
    USER,
    asked("a"),
    told("a"),
    {"role": "assistant", "content": "done"},
    LAST,
]
SPLIT: Raw = {"role": "assistant", "content": "[Tool call without a result: f({})]"}
LONE: Raw = {"role": "user", "content": "[Tool result: r]"}
TURN = [USER, claude(THINKING, use("a")), user(result("a"))]
SECOND: Raw = {**THINKING, "signature": "c2ln2"}
ASKED: Raw = {"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "arguments": "{}", "server_label": "s"}
BLANK: Raw = {"role": "assistant", "content": " "}
PAPER: Raw = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}
REASONED = [USER, REASONING, call("a", id="fc_1"), output("a"), LAST]

LOSING: dict[str, tuple[str, list[Raw], list[Raw]]] = {
    "last-user-lost": ("openai", WHOLE, [WHOLE[0], USER]),
    "system-lost": ("openai", WHOLE, [LAST]),
    "pair-split": ("openai", WHOLE, [WHOLE[0], USER, SPLIT, LAST]),
    "open-call-lost": ("openai", [*WHOLE, asked("b")], [WHOLE[0], LAST]),
    "call-altered": ("openai", WHOLE, [WHOLE[0], USER, asked("a", arguments='{"x": 1}'), told("a"), LAST]),
    "signed-altered": ("anthropic", TURN, [USER, claude({**THINKING, "thinking": ""}, use("a")), user(result("a"))]),
    "signed-order": (
        "anthropic",
        [USER, claude(THINKING, TEXT, SECOND, TEXT), USER],
        [USER, claude(SECOND, TEXT, THINKING, TEXT), USER],
    ),
    "signed-split": ("openai-responses", REASONED, [USER, REASONING, {"role": "assistant", "content": "x"}, LAST]),
    "thinking-gap": (
        "anthropic",
        [*TURN, claude(SECOND, use("b")), user(result("b"))],
        [*TURN, claude(use("b")), user(result("b"))],
    ),
    "reasoning-missing": ("openai-responses", REASONED, [USER, call("a", id="fc_1"), output("a"), LAST]),
}
"""For each rule an API, a conversation, and a compaction of it that has lost or changed what it must not."""


@pytest.mark.parametrize("rule", LOSING)
def test_what_a_compaction_loses_is_found(rule: str) -> None:
    """The whole conversation has lost nothing."""
    provider, whole, compacted = LOSING[rule]
    assert rule in {violation.rule for violation in validate_against(whole, compacted, provider)}
    if rule != "open-call-lost":
        assert validate_against(whole, whole, provider) == ()


def test_no_rule_of_a_compaction_is_without_a_conversation_that_breaks_it() -> None:
    """All rules are listed, with a sentence."""
    assert set(LOSING) == set(COMPACTION_RULES)
    assert set(RULES) == {*REQUEST_RULES, *COMPACTION_RULES, "message-type", "thinking-first"}
    assert all(sentence.endswith(".") for sentence in RULES.values())


@pytest.mark.parametrize(
    ("provider", "whole", "compacted"),
    [
        ("openai", WHOLE, [WHOLE[0], {"role": "user", "content": "[Summary: f was called.]"}, LAST]),
        ("openai", WHOLE, [WHOLE[0], USER, asked("a"), {**told("a"), "content": "[masked: h0123]"}, *WHOLE[4:]]),
        ("openai", [*WHOLE, asked("b", name="g")], [WHOLE[0], LAST, {**SPLIT, "content": SPLIT["content"].replace("f", "g")}]),
        ("openai", [LONE, *WHOLE], [LONE, *WHOLE]),
        ("openai", [told("z"), *WHOLE], [LONE, *WHOLE]),
        ("openai-responses", REASONED, [USER, call("a"), output("a"), LAST]),
        ("openai-responses", REASONED, [USER, LAST]),
        ("anthropic", [*TURN, claude(SECOND, use("b")), user(result("b"))], [USER, claude(use("a")), *TURN[2:]]),
        (
            "anthropic",
            [*TURN, claude(SECOND, use("b")), user(result("b"))],
            [USER, claude(use("a")), user(result("a", content="[masked: h0123]")), claude(SECOND, use("b")), user(result("b"))],
        ),
        ("gemini", [PROMPT, model(calling(thoughtSignature="s")), answer(), PROMPT], [PROMPT, PROMPT]),
        ("openai-responses", [USER, ASKED, USER, {"role": "assistant", "content": "no"}, LAST], [USER, ASKED, LAST]),
        ("openai-responses", [USER, ASKED, BLANK, USER, REASONING, *REASONED[2:]], [ASKED, BLANK, REASONING, *REASONED[2:]]),
        ("anthropic", [USER, claude(TEXT), user(PAPER), claude(TEXT)], [user(PAPER), claude(TEXT)]),
    ],
)
def test_a_sound_compaction_has_lost_nothing(provider: str, whole: list[Raw], compacted: list[Raw]) -> None:
    """Masked results, whole pairs taken away, orphans that were orphans before, and thinking left out from the beginning on."""
    assert validate_against(whole, compacted, provider) == ()


ANSWERS: Raw = {"role": "user", "parts": [*answer()["parts"], *answer()["parts"]]}


@pytest.mark.parametrize(
    ("provider", "messages"),
    [
        ("openai", WHOLE),
        ("anthropic", [*TURN, claude(SECOND, TEXT), user(TEXT, MARKED), claude(SEARCH)]),
        ("gemini", [PROMPT, model({"text": "hm", "thought": True}, calling(thoughtSignature="s"), calling()), ANSWERS]),
        ("openai-responses", REASONED),
    ],
)
def test_a_sound_conversation_breaks_no_rule(provider: str, messages: list[Raw]) -> None:
    """The validators aren't stricter than the API."""
    assert validate(messages, provider) == ()


def test_extended_thinking_demands_that_the_turn_begins_with_it() -> None:
    """Only where the request asks for it, and only of a turn that has called a tool."""
    bare = [USER, claude(use("a")), user(result("a"))]
    assert validate(bare, "anthropic") == ()
    assert [violation.rule for violation in validate(bare, "anthropic", thinking=True)] == ["thinking-first"]
    assert validate(TURN, "anthropic", thinking=True) == ()
    assert validate([*TURN, claude(use("b")), user(result("b"))], "anthropic", thinking=True) == ()
    assert validate([*bare, claude(TEXT), USER], "anthropic", thinking=True) == ()


def test_what_is_no_conversation_is_said() -> None:
    """A message that is no dict is a violation, an unknown provider an error."""
    assert [violation.rule for violation in validate([USER, "hi"], "openai")] == ["message-type"]  # type: ignore[list-item]
    with pytest.raises(UnknownName, match="provider 'bedrock' is unknown"):
        validate([USER], "bedrock")


def test_the_original_may_hold_messages_of_germanes() -> None:
    """As `compact` takes them."""
    whole = [Message.of("user", "hi"), Message(role="assistant", parts=(ToolCall(id="a", name="f"),)), Message.of("user", "x")]
    assert validate_against(whole, [{"role": "user", "content": "x"}], "openai") == ()
