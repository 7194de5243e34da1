"""The coding session that `bench tasks` replays: its shape, its labels, and that the stack brings what they ask for."""

from __future__ import annotations

import pytest
from bench.coding_session import EVENTS, coding_session
from bench.delegating import delegated
from bench.session_entries import Handover, LabelledStep, Move, SessionEvent
from bench.session_replay import holds, said
from bench.tasks import MODES, replayed

SESSION = coding_session()
STEPS = [entry for entry in SESSION if isinstance(entry, LabelledStep)]


def test_the_session_has_400_typed_events_and_four_levels_of_tasks() -> None:
    """With a blocked task, a failed one and a branch; the same seed makes the same session."""
    events = [entry for entry in SESSION if isinstance(entry, SessionEvent)]
    assert len(events) == EVENTS == 400
    types = {"file_read", "file_edit", "shell_exec", "search", "error", "decision", "user_message", "assistant_message"}
    assert {one.type for one in events} == types
    assert {step.depth for step in STEPS} == {0, 1, 2, 3}
    assert len(STEPS) >= 60
    assert sum(isinstance(entry, Handover) for entry in SESSION) >= 20
    moves = {entry.kind for entry in SESSION if isinstance(entry, Move)}
    assert moves == {"push", "pop", "fail", "block", "resume", "branch", "inject"}
    assert coding_session() == SESSION
    assert coding_session(16) != SESSION


def test_each_need_is_said_by_its_entries_and_by_no_other_before_the_step() -> None:
    """Else a step could be met by something that doesn't help it. No request holds what it asks for."""
    known: dict[str, str] = {}
    for entry in SESSION:
        if isinstance(entry, SessionEvent | Move):
            known[entry.id] = said(entry)
            continue
        asked = entry.prompt if isinstance(entry, LabelledStep) else entry.task
        for need in entry.needs:
            assert {id for id, text in known.items() if holds(text, need)} == set(need.entries) & set(known), (entry.id, need)
            assert not holds(asked, need), (entry.id, need)


@pytest.mark.requirement("TASK-2", "GRAPH-1")
async def test_the_stack_and_typed_events_bring_15_points_more_than_messages_alone() -> None:
    """On the first part of the session. Root goal and path are in every context, and no share is exceeded."""
    ways = [mode for mode in MODES if mode[0] in ("plain, default", "plain, compact", "structured, default")]
    tallies = await replayed(SESSION[:200], ways, budgets=(1000,))
    structured = tallies["structured, default", 1000]
    plain = [tallies[name, 1000].share() or 0.0 for name in ("plain, default", "plain, compact")]
    assert (structured.share() or 0.0) >= max(plain) + 0.15
    assert structured.share("root", "path") == 1
    assert structured.over == []


@pytest.mark.requirement("TASK-4")
async def test_a_brief_has_most_of_what_the_other_agent_needs_for_few_tokens() -> None:
    """More than a compacted parent's last messages, for a part of their tokens."""
    tallies = await delegated(SESSION[:160])
    brief, fork = tallies["brief 1000"], tallies["fork, last 40"]
    assert tallies["isolated"].share() == 0
    assert brief.share() >= 0.8
    assert brief.share() > fork.share()
    assert brief.tokens < fork.tokens
