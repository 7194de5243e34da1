"""Pending, interim and final results are told apart, and what waits for a confirmation is found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from germane.dialects.registry import parse
from germane.dialects.tool_state import result_state, unsettled, waits_for_confirmation
from germane.types.message import Message, ToolResult

pytestmark = pytest.mark.requirement("HIST-5")


def state(text: str) -> str:
    part = ToolResult(call_id="a", text=text)
    return result_state(part, Message(role="tool", parts=(part,)))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"status": "pending", "ticket-id": "t-1"}, "pending"),
        ({"status": "queued"}, "pending"),
        ({"state": "submitted"}, "pending"),
        ({"status": "awaiting_approval", "approver": "Ann"}, "pending"),
        ({"state": "approval-requested"}, "pending"),
        ({"task": {"taskId": "7", "status": "input_required"}}, "pending"),
        ({"task": {"taskId": "7", "status": "working", "pollInterval": 5000}}, "interim"),
        ({"status": {"state": "input-required"}}, "pending"),
        ({"status": "In Progress"}, "interim"),
        ({"status": "running", "percent": 40}, "interim"),
        ({"output": "half", "preliminary": True}, "interim"),
        ({"status": "completed", "output": "x"}, "final"),
        ({"status": "ok"}, "final"),
        ({"status": 200}, "final"),
        ({"data": {"status": "pending"}}, "final"),
        ({"orders": [{"status": "pending"}]}, "final"),
        ({}, "final"),
    ],
)
def test_a_result_that_tells_of_its_job_is_read(told: dict[str, Any], expected: str) -> None:
    """The words stand at the top, or in the job that the result holds; deeper ones are data."""
    assert state(json.dumps(told)) == expected


@pytest.mark.parametrize(
    "text",
    ["", "pending", "42", "[1]", '"running"', "{broken", "status: pending", '{"status": "pending", "x": "' + "y" * 5_000],
)
def test_a_plain_result_is_final(text: str) -> None:
    """What can't be told is final; a long result is no note about a job."""
    assert state(text) == "final"
    assert state(text + '"}' if text.startswith('{"status') else text) == "final"


@pytest.mark.parametrize(("given", "expected"), [("in_progress", "interim"), ("completed", "final"), ("incomplete", "final")])
def test_the_status_of_an_output_item_counts(given: str, expected: str) -> None:
    """An incomplete output ended early; it won't go on."""
    raw = {"type": "function_call_output", "call_id": "a", "output": "x", "status": given}
    assert result_state(parse(raw).tool_results[0], raw) == expected


def test_geminis_responses_that_continue_are_interim() -> None:
    """A function that isn't blocking answers more than once; the last answer says that it doesn't continue."""
    answers = [
        {
            "functionResponse": {
                "id": "a",
                "name": "f",
                "response": {"output": "1"},
                "willContinue": True,
                "scheduling": "SILENT",
            }
        },
        {"functionResponse": {"id": "b", "name": "f", "response": {"output": "2"}, "willContinue": False}},
        {"functionResponse": {"id": "c", "name": "f", "response": {"output": "3"}}},
    ]
    raw = {"role": "user", "parts": answers}
    assert [result_state(part, raw) for part in parse(raw).tool_results] == ["interim", "final", "final"]


def approval(id: str) -> dict[str, Any]:
    return {"type": "mcp_approval_request", "id": id, "name": "delete", "arguments": "{}", "server_label": "files"}


def test_an_approval_request_waits_for_a_confirmation() -> None:
    """So does a result that waits for a person; an open call as such does not."""
    assert waits_for_confirmation(parse(approval("mcpr_1")))
    waiting = {"role": "tool", "tool_call_id": "a", "content": '{"status": "awaiting_approval"}'}
    assert waits_for_confirmation(parse(waiting))
    for raw in (
        {"role": "tool", "tool_call_id": "a", "content": '{"status": "queued"}'},
        {"role": "assistant", "content": "Shall I?"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ):
        assert not waits_for_confirmation(parse(raw))


def found(raws: list[dict[str, Any]]) -> frozenset[int]:
    return unsettled([parse(raw) for raw in raws], raws)


def test_an_answered_approval_is_settled() -> None:
    """By its id; another's answer settles nothing."""
    answer = {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": False}
    assert found([approval("mcpr_1"), approval("mcpr_2")]) == {0, 1}
    assert found([approval("mcpr_1"), approval("mcpr_2"), answer]) == {1}


def tool(id: str, told: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": told if isinstance(told, str) else json.dumps(told)}


def call(*ids: str) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def test_a_later_result_of_the_same_call_or_job_settles_it() -> None:
    """A job is found by its id, under which another call asks for it."""
    asked = [call("a"), tool("a", {"status": "pending", "ticket-id": "t-1"}), call("b")]
    assert found(asked) == {1}
    assert found([*asked, tool("b", {"status": "running", "ticket_id": "t-1"})]) == {3}
    assert found([*asked, tool("b", {"status": "done", "ticket_id": "t-1"})]) == frozenset()
    assert found([*asked, tool("b", {"status": "done", "ticket_id": "t-2"})]) == {1}
    assert found([call("a"), tool("a", {"status": "running"}), tool("a", "42")]) == frozenset()
    assert found([call("a"), tool("a", {"status": "running"}), call("a"), tool("a", "42")]) == frozenset()


def test_a_servers_call_without_its_result_is_unsettled() -> None:
    """Anthropic's server tools pause a turn; OpenAI's items say that they go on."""
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    ended = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert found([{"role": "assistant", "content": [use]}]) == {0}
    assert found([{"role": "assistant", "content": [use, ended]}]) == frozenset()
    assert found([{"type": "web_search_call", "id": "ws_1", "status": "searching"}]) == {0}
    assert found([{"type": "web_search_call", "id": "ws_1", "status": "completed"}]) == frozenset()
