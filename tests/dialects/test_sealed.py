"""What a provider signed or encrypted is written back unchanged where something beside it is mended, or left out as a whole."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.registry import dialect

pytestmark = pytest.mark.requirement("HIST-5", "INJECT-4")

THINKING = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
OTHER = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
SAID = {"type": "text", "text": "so"}
USER: dict[str, Any] = {"role": "user", "content": "hi"}
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "title": "A page", "url": "https://x.test", "encrypted_content": "e"}],
}


def composed(provider: str, raws: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as sent; they are valid."""
    one = dialect(provider)
    wire = one.compose([OutgoingMessage(message=one.parse(raw), native=one.native(raw)) for raw in raws])
    assert one.problems(wire) == ()
    return wire.messages


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}}


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "r"}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_thinking_before_an_orphan_stays_in_its_place_and_thinking_behind_it_goes() -> None:
    """What stands before the second thinking has changed: Anthropic would refuse it."""
    said = assistant(THINKING, use("a"), OTHER, use("b"), THINKING, SAID)
    sent = composed("anthropic", [USER, said, {"role": "user", "content": [result("a")]}])
    note = {"type": "text", "text": "[Tool call without a result: f({})]"}
    assert sent[1]["content"] == [THINKING, use("a"), OTHER, note, SAID]


def test_a_turn_never_ends_in_thinking() -> None:
    """A stream that broke off leaves such turns; a later message of the same turn is its sequel."""
    assert composed("anthropic", [USER, assistant(THINKING), USER]) == [USER, USER]
    assert composed("anthropic", [USER, assistant(SAID, THINKING, OTHER), USER])[1]["content"] == "so"
    split = [USER, assistant(THINKING), assistant(use("a")), {"role": "user", "content": [result("a")]}]
    assert composed("anthropic", split) == split


def test_a_servers_call_without_its_result_becomes_text() -> None:
    """Only the last turn may be paused between the two; a result in a later message of the turn is in time."""
    paused = [USER, assistant(SEARCH)]
    assert composed("anthropic", paused) == paused
    note = '[Tool call without a result: web_search({"query": "q"})]'
    assert composed("anthropic", [*paused, USER])[1]["content"] == note
    assert (
        composed("anthropic", [USER, assistant(FOUND)])[1]["content"] == "[Tool result of web_search: A page\nhttps://x.test]"
    )
    whole = [USER, assistant(SEARCH, use("a")), {"role": "user", "content": [result("a")]}, assistant(FOUND, SAID), USER]
    assert composed("anthropic", whole) == whole
    twice = composed("anthropic", [USER, assistant(SEARCH, SAID), assistant(SEARCH, FOUND, SAID), USER])
    assert twice[1]["content"] == [{"type": "text", "text": note}, SAID, SEARCH, FOUND, SAID]


@pytest.mark.parametrize("block", [THINKING, SEARCH, FOUND, {"type": "compaction", "content": "sum"}])
def test_a_users_message_holds_nothing_of_the_assistants(block: dict[str, Any]) -> None:
    """Such a message is written anew, without it."""
    assert composed("anthropic", [{"role": "user", "content": [block, SAID]}]) == [{"role": "user", "content": "so"}]


PROMPT = {"role": "user", "parts": [{"text": "hi"}]}


def called(name: str = "f", **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **fields}


def answered(*names: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": "r"}}} for name in names]}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


@pytest.mark.parametrize("spelling", ["thoughtSignature", "thought_signature"])
def test_a_signed_call_keeps_its_signature_beside_an_orphan(spelling: str) -> None:
    """The part stays as it is, and so does a signed text; the orphan becomes text."""
    signed, text = called(**{spelling: "s"}), {"text": "so", spelling: "t"}
    sent = composed("gemini", [PROMPT, model(text, signed, called("g")), answered("f")])
    assert sent[1]["parts"] == [text, {"text": "[Tool call without a result: g({})]"}, signed]


def test_a_call_that_loses_its_signed_neighbour_says_that_it_is_unsigned() -> None:
    """The API demands a signature at a turn's first call, and has a word for where there is none."""
    sent = composed("gemini", [PROMPT, model(called(thoughtSignature="s"), called("g")), answered("g")])
    assert sent[1]["parts"] == [
        {"text": "[Tool call without a result: f({})]"},
        called("g", thoughtSignature="skip_thought_signature_validator"),
    ]
    unsigned = composed("gemini", [PROMPT, model(called(), called("g")), answered("g")])
    assert unsigned[1]["parts"][-1] == called("g")


def test_a_signed_call_with_an_unfit_name_keeps_its_signature() -> None:
    """Only the name is written anew."""
    sent = composed("gemini", [PROMPT, model(called("9 lives", thoughtSignature="s")), answered("9 lives")])
    assert sent[1]["parts"] == [called("_9_lives", thoughtSignature="s")]


def test_geminis_own_tools_are_valid_parts() -> None:
    """The client sends a server-side call and its response back."""
    parts: list[dict[str, Any]] = [
        {"toolCall": {"id": "1", "toolType": "GOOGLE_SEARCH_WEB"}},
        {"toolResponse": {"id": "1", "response": {}}},
    ]
    raws = [PROMPT, model(*parts, {"text": "so"})]
    assert composed("gemini", raws) == raws


REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": "{}", **fields}


def output(id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": "r"}


def test_items_whose_reasoning_is_left_out_lose_their_ids() -> None:
    """The API refuses an item that it knows without the reasoning that it belongs to. An item that can't be without an id goes
    too."""
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    raws = [USER, REASONING, call("a", id="fc_1"), searched, call("b", id="fc_2"), output("b")]
    sent = composed("openai-responses", raws)
    assert sent == [USER, {"role": "assistant", "content": "[Tool call without a result: f({})]"}, call("b"), output("b")]
    whole = [USER, REASONING, call("a", id="fc_1"), call("b", id="fc_2"), output("a"), output("b")]
    assert composed("openai-responses", whole) == whole


def test_an_items_id_is_used_once() -> None:
    """The API refuses duplicates: what repeats an id stands without one, and reasoning not at all."""
    raws = [USER, REASONING, call("a", id="fc_1"), output("a"), REASONING, call("b", id="fc_1"), output("b")]
    sent = composed("openai-responses", raws)
    assert sent == [USER, REASONING, call("a", id="fc_1"), output("a"), call("b"), output("b")]
