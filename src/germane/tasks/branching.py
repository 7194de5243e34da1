"""Branching: values: a line of work beside the main one, and a named place that a branch may begin at (TASK-3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

__all__ = ["BRANCH_STATES", "BranchState", "StackHead", "TaskBranch", "TaskCheckpoint"]

BranchState = Literal["open", "merged", "abandoned"]
BRANCH_STATES: tuple[BranchState, ...] = get_args(BranchState)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBranch:
    """`parent` is the branch that it left, None for the main one, and `forked_at` when; what happened there later doesn't
    belong to this branch. `base` is the frame that it left from, `root` the first frame of its own, and `current` the frame it
    stands at; each None where there is none."""

    session: str
    name: str
    parent: str | None = None
    base: str | None = None
    root: str | None = None
    current: str | None = None
    state: BranchState = "open"
    forked_at: datetime
    closed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCheckpoint:
    """A place to come back to: the frame (None: the empty stack) that a branch stood at when the checkpoint was made."""

    session: str
    name: str
    branch: str
    frame: str | None = None
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StackHead:
    """Where a session stands: its running branch, and how often it moved (`moves` rises with each push, pop and switch).
    `open` counts the frames of the session that haven't ended, `frames` all of them, `branches` its branches, and
    `checkpoints` its checkpoints."""

    branch: TaskBranch
    moves: int = 0
    open: int = 0
    frames: int = 0
    branches: int = 0
    checkpoints: int = 0
