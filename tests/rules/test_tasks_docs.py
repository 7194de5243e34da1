"""Tasks docs: the code of `docs/use/tasks.md` runs as one program, and the page states the shares and the limits."""

from __future__ import annotations

import re

import pytest

from germane.kinds.tasks.value import MAX_DEPTH, MAX_FRAMES, MAX_OPEN, DelegationLimits
from germane.stages.pack.shares import TASK_SHARES
from support.code_blocks import Block, blocks, run
from support.source_tree import ROOT

PAGE = (ROOT / "docs" / "use" / "tasks.md").read_text("utf-8")


@pytest.mark.requirement("TASK-1", "TASK-3", "TASK-4")
def test_the_pages_code_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    """The brief is explained."""
    run(Block(1, "\n".join(block.code for block in blocks(PAGE))), "tasks.md", {"__name__": "tasks"})
    assert "strategy brief" in capsys.readouterr().out


@pytest.mark.requirement("TASK-2")
def test_the_page_states_the_shares_and_the_limits() -> None:
    shares = [int(share) for share in re.findall(r"^\|.* \| (\d+) % \|$", PAGE, re.MULTILINE)]
    assert sorted(shares) == sorted(TASK_SHARES.values())
    assert f"{MAX_DEPTH} levels, {MAX_OPEN} open tasks and {MAX_FRAMES:,} tasks" in PAGE
    limits = DelegationLimits()
    assert f"At most {limits.depth} delegations" in PAGE
    assert f"at most {limits.open} of a session" in PAGE
