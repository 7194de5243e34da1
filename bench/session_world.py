"""Session world: what the coding session is about, as `bench/coding_session.toml` has it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Constraint", "Epic", "WorkStep", "WorkTask", "World", "world"]

_FILE = Path(__file__).with_name("coding_session.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """What the user asked for at the beginning; `quote` is the part of `text` that says it."""

    id: str
    text: str
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStep:
    """A subtask: the `line` of its file that matters, the command that fails twice, and what was tried. `binds` and `uses` name
    the steps whose decision and file matter here, `heeds` a constraint; '' for none."""

    id: str
    goal: str
    file: str
    line: str
    quote: str
    command: str
    first: str
    second: str
    tried: str
    fix: str
    result: str
    decision: str = ""
    decision_quote: str = ""
    heeds: str = ""
    binds: str = ""
    uses: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkTask:
    goal: str
    result: str
    steps: tuple[WorkStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Epic:
    goal: str
    result: str
    tasks: tuple[WorkTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    root: str
    root_result: str
    constraints: tuple[Constraint, ...]
    epics: tuple[Epic, ...]


def world() -> World:
    """Reads the file."""
    table = tomllib.loads(_FILE.read_text("utf-8"))
    return World(
        root=table["root"],
        root_result=table["root_result"],
        constraints=tuple(Constraint(**one) for one in table["constraints"]),
        epics=tuple(_epic(one) for one in table["epics"]),
    )


def _epic(table: Mapping[str, Any]) -> Epic:
    return Epic(goal=table["goal"], result=table["result"], tasks=tuple(_task(one) for one in table["tasks"]))


def _task(table: Mapping[str, Any]) -> WorkTask:
    steps = tuple(WorkStep(**one) for one in table["steps"])
    return WorkTask(goal=table["goal"], result=table["result"], steps=steps)
