"""Toolbox: the tools of a generated agent, as those of known agents are named, each as a name and JSON arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["TOOLBOXES", "ToolUse", "Toolbox"]

ToolUse = tuple[str, str]
"""A tool's name and its arguments."""


class Toolbox(NamedTuple):
    """How one family of agents reads, creates, edits, deletes and renames files, runs commands, and writes tasks down."""

    read: Callable[[str], ToolUse]
    create: Callable[[str, str], ToolUse]
    edit: Callable[[str], ToolUse]
    delete: Callable[[str], ToolUse]
    rename: Callable[[str, str], ToolUse]
    run: Callable[[str], ToolUse]
    plan: Callable[[Mapping[str, bool]], ToolUse]


def _use(name: str, **arguments: Any) -> ToolUse:
    return name, json.dumps(arguments, ensure_ascii=False)


def _todos(tasks: Mapping[str, bool], title: str, done: str, pending: str) -> list[dict[str, str]]:
    return [{title: task, "status": done if finished else pending} for task, finished in tasks.items()]


def _patch(head: str, *lines: str) -> ToolUse:
    return _use("apply_patch", input="\n".join(("*** Begin Patch", head, *lines, "*** End Patch")))


_PLAIN = Toolbox(
    read=lambda path: _use("read_file", path=path),
    create=lambda path, text: _use("write_file", path=path, content=text),
    edit=lambda path: _use("edit_file", path=path, old_text="a = 1", new_text="a = 2"),
    delete=lambda path: _use("delete_file", path=path),
    rename=lambda path, target: _use("move_file", source=path, destination=target),
    run=lambda command: _use("run_command", command=command),
    plan=lambda tasks: _use("write_todos", todos=_todos(tasks, "content", "completed", "pending")),
)
_CAPITALS = Toolbox(
    read=lambda path: _use("Read", file_path=path),
    create=lambda path, text: _use("Write", file_path=path, content=text),
    edit=lambda path: _use("Edit", file_path=path, old_string="a = 1", new_string="a = 2"),
    delete=lambda path: _use("Bash", command=f"rm -f {path}"),
    rename=lambda path, target: _use("Bash", command=f"git mv {path} {target}"),
    run=lambda command: _use("Bash", command=command),
    plan=lambda tasks: _use("TodoWrite", todos=_todos(tasks, "content", "completed", "in_progress")),
)
_EDITOR = Toolbox(
    read=lambda path: _use("str_replace_based_edit_tool", command="view", path=path),
    create=lambda path, text: _use("str_replace_based_edit_tool", command="create", path=path, file_text=text),
    edit=lambda path: _use("str_replace_based_edit_tool", command="str_replace", path=path, old_str="a", new_str="b"),
    delete=lambda path: _use("bash", command=f"cd . && rm '{path}'"),
    rename=lambda path, target: _use("bash", command=f"mkdir -p x; mv {path} {target}"),
    run=lambda command: _use("bash", command=command),
    plan=lambda tasks: _use("update_plan", plan=_todos(tasks, "step", "completed", "pending")),
)
_PATCHER = Toolbox(
    read=lambda path: _use("shell", command=["bash", "-lc", f"cat {path}"]),
    create=lambda path, text: _patch(f"*** Add File: {path}", *(f"+{line}" for line in text.split("\n"))),
    edit=lambda path: _patch(f"*** Update File: {path}", "@@", "-a = 1", "+a = 2"),
    delete=lambda path: _patch(f"*** Delete File: {path}"),
    rename=lambda path, target: _patch(f"*** Update File: {path}", f"*** Move to: {target}", "@@", "-a", "+b"),
    run=lambda command: _use("shell", command=["bash", "-lc", command]),
    plan=lambda tasks: _use("update_plan", plan=_todos(tasks, "step", "completed", "pending")),
)
TOOLBOXES = (_PLAIN, _CAPITALS, _EDITOR, _PATCHER)
