"""Coding session: 400 typed events of an agent at work with a task stack of four levels, and what each labelled step needs.

The session is generated from a seed. Its labels come from what the generator put where, not from any retrieval: the root goal,
the tasks above, the results of the tasks below and beside, what failed before and what was tried against it, lines of files
that were read, the decision and the user's constraint that bind. Most steps have distractors: files with similar names, errors
of the same kinds, the same commands for other tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final

from bench.session_entries import Entry, Handover, LabelledStep, Move, MoveKind, Need, NeedKind, SessionEvent
from bench.session_text import failed_run, file_text, listing, passed_run, stack
from bench.session_world import Epic, WorkStep, WorkTask, World, world

__all__ = ["EVENTS", "coding_session"]

EVENTS: Final = 400
_QUOTED = 36
"""Characters of a goal or a result by which it is recognised: a context may shorten it."""
_BLOCKED, _FAILED, _BRANCHED = "shadow", "reverse", "silence"
"""Steps that are blocked once and resumed, that fail, and that are done on a branch."""
_CHATTER = (
    "git status --short",
    "git log --oneline -5",
    "ls src/ferry",
    "git diff --stat",
    "ruff check src",
    "mypy src/ferry",
    "git fetch origin",
    "docker compose ps",
)
_NAMES = ("answer", "sent", "result", "handle")
_BEGINNING = (
    "Go on.",
    "What do we know that matters for this?",
    "Now change {file}.",
    "Next step, please.",
    "Write the change now.",
)
_FAILING = (
    "`{command}` fails again. What did we try?",
    "Still red.",
    "Go on.",
    "{second} - why?",
    "Find out what is wrong and mend it.",
)
_CLOSING = ("What did this bring?", "Go on.", "Sum up where we stand.", "Is this done?")


def coding_session(seed: int = 15) -> tuple[Entry, ...]:
    """Returns the entries in order: exactly 400 `SessionEvent`, with the moves, labelled steps and handovers between them. The
    same seed returns the same session."""
    least = sum(isinstance(one, SessionEvent) for one in _Writer(world(), Random(seed), extra=0).written())
    return _Writer(world(), Random(seed), extra=EVENTS - least).written()


def _start(text: str) -> str:
    return text[:_QUOTED]


class _Writer:
    def __init__(self, about: World, random: Random, *, extra: int) -> None:
        self._world, self._random, self._extra = about, random, extra
        self._noise = Random(extra)
        self._entries = list[Entry]()
        self._path = list[Need]()
        self._closed = list[list[Need]]()
        self._facts: dict[str, Need] = {}
        self._counts = {"event": 0, "move": 0, "step": 0, "handover": 0}

    def written(self) -> tuple[Entry, ...]:
        about = self._world
        asked = self._say("user", f"{about.root}. You have the repository and the sandbox; keep me posted.")
        for one in about.constraints:
            self._facts[one.id] = Need(kind="constraint", quote=one.quote, entries=(self._say("user", one.text),))
        self._say("assistant", "Understood. I begin with the client, then the data, the webhooks, and the switch at last.")
        self._push(about.root, kind="root", also=(asked,))
        for epic in about.epics:
            self._epic(epic)
        self._check("make acceptance SUITE=all", "the whole season", "tests/acceptance/season.py")
        self._chatter(False, all=True)
        self._pop(about.root_result)
        return tuple(self._entries)

    def _epic(self, epic: Epic) -> None:
        self._push(epic.goal)
        self._say("assistant", f"The next part has {len(epic.tasks)} tasks; I look at what is there first.")
        for number, task in enumerate(epic.tasks):
            self._task(task, checked=number != 1)
        place = self._world.epics.index(epic) + 1
        self._check(f"make acceptance SUITE={place}", f"part {place}", f"tests/acceptance/part_{place}.py")
        self._pop(epic.result)

    def _task(self, task: WorkTask, *, checked: bool) -> None:
        self._push(task.goal)
        for step in task.steps:
            self._step(step)
        if checked:
            first = task.steps[0]
            self._check(f"make integration ONLY={first.id}", f"flow {first.id}", f"tests/integration/{first.id}_flow.py")
        else:
            self._label(_CLOSING, ())
        self._pop(task.result)

    def _step(self, step: WorkStep) -> None:
        branched = step.id == _BRANCHED
        self._push(step.goal, branch=step.id if branched else "")
        read = self._look_around(step)
        binding = [self._facts[name] for name in (step.heeds, step.binds and f"decision {step.binds}") if name]
        binding += [self._facts[f"read {step.uses}"]] if step.uses else []
        self._label(_BEGINNING, (*binding, read), step)
        self._hand_over(step, (*binding, read))
        if step.id == _BLOCKED:
            self._move("block", "Halyard's sandbox is down for maintenance until the afternoon")
            self._say("user", "The sandbox is back, you can go on with the comparison.")
            again = self._move("resume", step.goal, name=step.goal)
            goal = self._path[-1]
            self._path[-1] = Need(kind=goal.kind, quote=goal.quote, entries=(*goal.entries, again))
        if step.decision:
            id = self._event("decision", {"decision": step.decision})
            self._facts[f"decision {step.id}"] = Need(kind="decision", quote=step.decision_quote, entries=(id,))
        failed = self._failures(step)
        self._label(_FAILING, (*binding, read, *failed), step)
        self._event("file_edit", {"path": step.file, "old": step.tried, "new": step.fix}, "success")
        self._run(step.command, passed_run(step.command, self._random), "success")
        self._event(
            "shell_exec", {"command": f"git commit -am '{step.id}: {step.result.split(';')[0].lower()[:20]}'"}, "success"
        )
        if step.id == _FAILED:
            self._pop(f"Not possible: {step.result[0].lower()}{step.result[1:]}", kind="fail")
        else:
            self._pop(step.result, branch=step.id if branched else "")
        self._chatter(self._counts["step"] % 3 == 0)

    def _look_around(self, step: WorkStep) -> Need:
        random = self._random
        if random.random() < 0.6:
            wanted = step.goal.split()[-1].strip("'?")
            self._event("search", {"query": wanted, "results": listing(step.file, step.line, random)}, "success")
        if random.random() < 0.5:
            near = step.file.replace("halyard", "legacy") if "halyard" in step.file else step.file.replace(".", "_old.")
            self._read(near, f"LIMIT_{random.choice('ABCD')} = {random.randint(3, 900)}  # as measured last year")
        id = self._read(step.file, step.line)
        need = Need(kind="read", quote=step.quote, entries=(id,))
        self._facts[f"read {step.id}"] = need
        self._chatter(random.random() < 0.4)
        return need

    def _failures(self, step: WorkStep) -> Sequence[Need]:
        """The command fails, an edit is tried, the command fails again: the history that the next edit needs. The newest error
        isn't among the needs, as a request would hold it."""
        random, path = self._random, step.file
        self._event("file_edit", {"path": path, "new": f"{random.choice(_NAMES)} = build({step.id!r})"}, "success")
        shown = [self._run(step.command, failed_run(step.command, path, step.first, random), "exit 1")]
        if random.random() < 0.4:
            shown.append(self._event("error", {"message": step.first, "stack": stack(path, step.first, random)}))
        test = step.command.split()[1] if step.command.startswith("pytest") else path.replace(".", "_test.", 1)
        if random.random() < 0.6:
            self._read(test, f"assert made.count == {random.randint(2, 40)}  # by hand")
        tried = self._event("file_edit", {"path": path, "new": step.tried}, "success")
        self._run(step.command, failed_run(step.command, path, step.second, random), "exit 1")
        return (
            Need(kind="failures", quote=step.first, entries=tuple(shown)),
            Need(kind="failures", quote=step.tried, entries=(tried,)),
        )

    def _check(self, command: str, scenario: str, path: str) -> None:
        """A larger test at this level of the stack: it fails twice and then passes."""
        random = self._random
        wanted, found = random.sample(range(20, 900), 2)
        first = f"ScenarioFailed: {scenario}: {found} bookings paid, {wanted} expected"
        second = f"ScenarioFailed: {scenario}: {random.randint(2, 19)} receipts lack their number"
        tried, fixed = (
            f"wait(seconds={random.randint(11, 99)}{self._counts['step']})",
            f"drain(queue, until={self._counts['step']})",
        )
        shown = self._run(command, failed_run(command, path, first, random), "exit 1")
        edit = self._event("file_edit", {"path": path, "new": tried}, "success")
        self._run(command, failed_run(command, path, second, random), "exit 1")
        failed = (
            Need(kind="failures", quote=first, entries=(shown,)),
            Need(kind="failures", quote=tried, entries=(edit,)),
        )
        self._label(_FAILING, failed, command=command, second=second)
        self._event("file_edit", {"path": path, "old": tried, "new": fixed}, "success")
        self._run(command, passed_run(command, random), "success")

    def _label(
        self,
        prompts: Sequence[str],
        needs: Sequence[Need],
        step: WorkStep | None = None,
        *,
        command: str = "",
        second: str = "",
    ) -> None:
        if step is not None:
            command, second = step.command, step.second
        known = {"command": command, "second": second, "file": "" if step is None else step.file}
        self._counts["step"] += 1
        prompt = prompts[self._counts["step"] % len(prompts)].format(**known)
        every = (*self._path, *self._closed[-1], *needs)
        if step is not None:
            every = (*self._path, *self._closed[-2], *needs)
        id = f"step {self._counts['step']}"
        self._entries.append(LabelledStep(id=id, prompt=prompt, depth=len(self._path) - 1, needs=every))

    def _hand_over(self, step: WorkStep, needs: Sequence[Need]) -> None:
        self._counts["handover"] += 1
        text = f"{step.goal}. Work on {step.file} until `{step.command}` passes, and report what you changed."
        known = (*self._path[:-1], *self._closed[-2], *needs)
        self._entries.append(Handover(id=f"handover {self._counts['handover']}", task=text, needs=known))

    def _chatter(self, wanted: bool, *, all: bool = False) -> None:
        """A command that nobody needs, where one belongs, and as many more as bring the session to its length."""
        extra = self._extra if all else min(self._extra, self._noise.choice((0, 0, 1, 1, 2)))
        self._extra -= extra
        for _ in range(wanted + extra):
            command = self._noise.choice(_CHATTER)
            self._run(command, f"{self._noise.randint(1, 99)} files, {self._noise.randint(0, 40)} changed", "success")

    def _read(self, path: str, line: str) -> str:
        return self._event("file_read", {"path": path, "content": file_text(path, line, self._random)}, "success")

    def _run(self, command: str, output: str, outcome: str) -> str:
        stream = "stdout" if outcome == "success" or command.startswith("pytest") else "stderr"
        return self._event("shell_exec", {"command": command, stream: output}, outcome)

    def _say(self, role: str, text: str) -> str:
        return self._event(f"{role}_message", text, role=role)

    def _event(self, type: str, content: Any, outcome: str = "", *, role: str = "") -> str:
        self._counts["event"] += 1
        id = f"e{self._counts['event']:03}"
        self._entries.append(SessionEvent(id=id, type=type, content=content, outcome=outcome, role=role))
        return id

    def _move(self, kind: MoveKind, text: str, *, name: str = "", goal: str = "") -> str:
        self._counts["move"] += 1
        id = f"m{self._counts['move']:03}"
        self._entries.append(Move(id=id, kind=kind, text=text, name=name, goal=goal))
        return id

    def _push(self, goal: str, *, kind: NeedKind = "path", also: tuple[str, ...] = (), branch: str = "") -> None:
        id = self._move("branch" if branch else "push", goal, name=branch)
        self._path.append(Need(kind=kind, quote=_start(goal), entries=(*also, id)))
        self._closed.append([])

    def _pop(self, result: str, *, kind: MoveKind = "pop", branch: str = "") -> None:
        goal = self._path.pop()
        self._closed.pop()
        id = self._move("inject" if branch else kind, result, name=branch, goal=goal.quote)
        if self._closed:
            self._closed[-1].append(Need(kind="results", quote=_start(result), entries=(id,)))
