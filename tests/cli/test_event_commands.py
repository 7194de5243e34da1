"""`germane event`: events are recorded, listed and summed up, at any width and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.requirement("GRAPH-1")
Run = Callable[..., str]


def test_an_event_is_recorded_read_and_listed(run: Run) -> None:
    """The archetype's extractors say what they found; the list shows the first line and the outcome."""
    content = '{"command": "pytest -q", "stderr": "KeyError: port"}'
    said = run("event", "record", "shell_exec", content, "--session", "s1", "--outcome", "failure", "--archetype", "coding")
    assert said == "recorded 1 of 1 events in session s1, 3 entities found\n"
    run("event", "record", "decision", "use the settings", "--session", "s1", "--task", "t")
    lines = run("event", "list", "s1").splitlines()
    assert "Executed: `pytest -q` [failure]" in lines[1]
    assert "Decision: use the settings" in lines[2]
    assert all(len(line) <= 40 for line in run("event", "list", columns=40).splitlines())
    assert "Decision" in run("event", "highlights")
    assert "Executed" not in run("event", "list", "--task", "t")
    (found,) = json.loads(run("event", "list", "--type", "shell_exec", "--json"))["events"]
    assert (found["event_type"], found["outcome"]) == ("shell_exec", "failure")
    assert found["content"]["stderr"] == "KeyError: port"


def test_many_events_come_from_a_file_once(run: Run) -> None:
    """With ids, a second time adds none; times may lack a zone."""
    given = json.dumps(
        [{"type": "note", "content": "a", "id": "1", "at": "2026-11-01T10:00"}, {"type": "error", "content": "b", "id": "2"}]
    )
    assert run("event", "record", "--file", "-", stdin=given).startswith("recorded 2 of 2")
    assert run("event", "record", "--file", "-", stdin=given).startswith("recorded 0 of 2")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("record",), "--file"),
        (("record", "user_message", "hi"), "agent.record"),
        (("record", "note", "{broken"), "isn't JSON"),
        (("record", "note", "x", "--archetype", "codng"), "coding, research, support"),
        (("record", "note", "x", "--at", "today"), "ISO 8601"),
    ],
)
def test_what_can_not_be_used_is_refused_with_the_reason(run: Run, arguments: tuple[str, ...], said: str) -> None:
    """Exit code 2."""
    assert said in run("event", *arguments, expect=2)


def test_an_empty_store_says_so(run: Run) -> None:
    """With a hint where something is, if anywhere."""
    run("remember", "x")
    assert "no such events here" in run("event", "list")
