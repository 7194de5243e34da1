"""Conversations: generated ones of coding, support and research agents, with what must survive their compaction.

Constraints are stated early and in passing, by the user, in one of seven languages. Then the agent works: it reads,
creates, edits, renames and deletes files, runs checks that fail and are repaired, looks up ids, decides, and keeps a list
of tasks. What is expected of an artifact is its last state.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any, Literal, NamedTuple

from germane.compaction.notes import ArtifactKind

AgentKind = Literal["coding", "support", "research"]
_KINDS: tuple[AgentKind, ...] = ("coding", "support", "research")
_EARLY = 6
"""Exchanges in which the constraints are stated."""
_SPELLINGS = {
    "created": ("creat", "added", "add file", "wrote", "written", "write", "new file"),
    "edited": ("edit", "updat", "modif", "chang", "str_replace", "patch", "rewr"),
    "deleted": ("delet", "remov", "rm "),
    "renamed": ("renam", "mov", "mv "),
    "read": (),
}
_RESOLVED = (
    "resolv",
    "fix",
    "solv",
    "succe",
    "pass",
    "behoben",
    "gelöst",
    "corrig",
    "risolt",
    "corrett",
    "исправ",
    "устран",
    "решен",
)
_DONE = ("done", "complet", "finish", "[x]", "✓")
_OUTPUT_LINES = (8, 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivalConversation:
    """`messages` are OpenAI chat messages, the last exchange the active one. What is expected holds at their end."""

    name: str
    agent: AgentKind
    language: str
    messages: tuple[dict[str, Any], ...]
    constraints: tuple[ExpectedConstraint, ...]
    artifacts: tuple[ExpectedArtifact, ...]


def survival_conversations(
    count: int = 500, *, split: Split = "development", seed: int = 0, exchanges: int = 40
) -> Iterator[SurvivalConversation]:
    """Yields `count` conversations of `exchanges` exchanges each; kinds of agents, languages and tools take turns. The same
    arguments give the same conversations."""
    for number in range(count):
        language, kind = LANGUAGES[number % len(LANGUAGES)], _KINDS[number // len(LANGUAGES) % len(_KINDS)]
        yield _Maker(kind, Phrases(split, language), Random(f"{seed} {split} {number}"), number).made(exchanges)


class _Maker:
    """Writes one conversation, and keeps what is true at its end."""

    def __init__(self, kind: AgentKind, phrases: Phrases, random: Random, number: int) -> None:
        self.kind, self.phrases, self.random, self.number = kind, phrases, random, number
        self.tools: Toolbox = TOOLBOXES[number % len(TOOLBOXES)]
        self.messages = list[dict[str, Any]]()
        self.constraints = list[ExpectedConstraint]()
        self.files = dict[str, tuple[str, str]]()
        """The last change of each file, and its new name where it was renamed."""
        self.errors = dict[str, tuple[str, ...]]()
        """What shows that each error is resolved; empty where it isn't."""
        self.words = dict[str, ExpectedArtifact]()
        self.tasks = dict[str, bool]()
        self.topics = random.sample(world()["words"]["topics"], len(world()["words"]["topics"]))
        self.kinds_of_errors = random.sample(world()["errors"]["texts"], len(world()["errors"]["texts"]))
        self.calls = 0

    def made(self, exchanges: int) -> SurvivalConversation:
        random = self.random
        stated = random.sample(range(min(_EARLY, exchanges - 1)), min(3, exchanges - 1))
        steps = self._steps(exchanges)
        for place in range(exchanges):
            self._ask(place in stated)
            for step in steps[place]:
                step()
            self._answer()
        return SurvivalConversation(
            name=f"{self.phrases.split}-{self.number}",
            agent=self.kind,
            language=self.phrases.language,
            messages=tuple(self.messages),
            constraints=tuple(self.constraints),
            artifacts=(*self._expected_files(), *self._expected_errors(), *self.words.values(), *self._expected_tasks()),
        )

    def _steps(self, exchanges: int) -> list[list[Any]]:
        """What the agent does in each exchange: reads always, and each of these at a random place."""
        once = {
            "coding": [self._create] * 4 + [self._edit] * 6 + [self._rename] * 2 + [self._delete] * 2 + [self._check] * 4
            + [self._look_up] * 2 + [self._decide] * 2 + [self._plan] * 2 + [self._say_open],
            "support": [self._look_up] * 6 + [self._decide] * 3 + [self._create] * 2 + [self._edit] + [self._plan]
            + [self._say_open] * 2 + [self._check],
            "research": [self._create] * 5 + [self._edit] * 3 + [self._rename] + [self._delete] + [self._look_up] * 3
            + [self._decide] * 3 + [self._plan] * 2 + [self._say_open] + [self._check],
        }[self.kind]  # fmt: skip
        steps: list[list[Any]] = [[self._read] for _ in range(exchanges)]
        for step in self.random.sample(once, len(once)):
            steps[self.random.randrange(exchanges)].append(step)
        return steps

    # What is said

    def _ask(self, constrained: bool) -> None:
        values = {"file": self._path()}
        parts = [self.phrases.say("tasks", self.random, **values)]
        if constrained:
            said = self.phrases.say("constraints", self.random, **values)
            parts.insert(self.random.randrange(2), said)
            self._constrain(said)
        if self.random.random() < 0.4:
            parts.append(self.phrases.say("chatter", self.random))
        self.messages.append({"role": "user", "content": " ".join(part.text for part in parts)})
        self.closing = list[str]()

    def _constrain(self, said: SaidPhrase) -> None:
        self.constraints.append(ExpectedConstraint(text=said.text, words=said.words, language=self.phrases.language))

    def _answer(self) -> None:
        self.messages.append({"role": "assistant", "content": " ".join((*self.closing, "Anything else?"))})

    # What is done

    def _call(self, name: str, arguments: str, result: str) -> None:
        self.calls += 1
        key = f"call_{self.calls}"
        call = {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}
        self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        self.messages.append({"role": "tool", "tool_call_id": key, "content": result})

    def _read(self) -> None:
        path = self._path()
        self._call(*self.tools.read(path), self._output())

    def _create(self) -> None:
        path = self._path(new=True)
        self._call(*self.tools.create(path, self._output()), f"File {path} written.")
        self.files[path] = ("created", "")

    def _edit(self) -> None:
        path = self._known()
        self._call(*self.tools.edit(path), "ok")
        self.files[path] = ("edited", "")

    def _rename(self) -> None:
        path, target = self._known(), self._path(new=True)
        self._call(*self.tools.rename(path, target), "")
        self.files[path] = ("renamed", target)

    def _delete(self) -> None:
        path = self._known()
        self._call(*self.tools.delete(path), "")
        self.files[path] = ("deleted", "")

    def _check(self) -> None:
        """A command fails; mostly a file is edited and the command succeeds, or the agent says what was fixed."""
        word = self.random.choice(world()["errors"]["words"]) + str(self.random.randint(10, 99))
        error = self.kinds_of_errors.pop().format(word=word)
        command = f"pytest -q tests/test_{word}.py"
        trace = f'{self._output()}\nTraceback (most recent call last):\n  File "run.py", line 3, in <module>\n{error}'
        self._call(*self.tools.run(command), trace)
        kind = error.partition(":")[0]
        turn = self.random.random()
        shown = command
        if turn < 0.6:
            self._edit()
            self._call(*self.tools.run(command), "1 passed in 0.12s")
        elif turn < 0.8:
            path = self._known()
            self._call(*self.tools.edit(path), "ok")
            self.files[path] = ("edited", "")
            shown = self.phrases.say("fixed", self.random, error=kind, file=path).text
            self.closing.append(shown)
        self.errors[error] = (shown,) if turn < 0.8 else ()

    def _look_up(self) -> None:
        order, ticket = str(self.random.randint(10_000, 99_999)), f"SUP-{self.random.randint(100, 999)}"
        uuid = (
            f"{self.random.getrandbits(32):08x}-0f{self.random.getrandbits(8):02x}-4a1b-9c3d-{self.random.getrandbits(48):012x}"
        )
        name, shown = self.random.choice(
            (
                ("get_order", f'{{"order_id": "{order}", "status": "shipped", "items": 3}}'),
                ("create_ticket", f'{{"ticket_id": "{ticket}", "url": "https://desk.example.com/t/{ticket}"}}'),
                ("start_job", f'{{"job": {{"uuid": "{uuid}", "state": "queued"}}}}'),
            )
        )
        self._call(name, '{"query": "latest"}', shown)
        key = {"get_order": order, "create_ticket": ticket, "start_job": uuid}[name]
        self.words[f"id {key}"] = ExpectedArtifact(kind="id", names=(key,))

    def _decide(self) -> None:
        name, other = self.random.sample(world()["words"]["names"], 2)
        said = self.phrases.say("decisions", self.random, name=name, other=other, topic=self.topics.pop())
        self.closing.append(said.text)
        self.words[f"decision {said.text}"] = ExpectedArtifact(kind="decision", names=said.words)

    def _say_open(self) -> None:
        work = self.random.choice(world()["work"][self.phrases.language])
        said = self.phrases.say("open", self.random, work=work, topic=self.topics.pop())
        self.closing.append(said.text)
        self.words[f"task {said.text}"] = ExpectedArtifact(kind="task", names=said.words)

    def _plan(self) -> None:
        """The list of tasks is written again: one is new, one may be done since."""
        for task in self.tasks:
            self.tasks[task] = self.tasks[task] or self.random.random() < 0.6
        work = self.random.choice(world()["work"][self.phrases.language])
        self.tasks[f"{work} {self.topics.pop()}"] = False
        self._call(*self.tools.plan(self.tasks), "ok")

    # What is expected

    def _expected_files(self) -> Iterator[ExpectedArtifact]:
        for path, (change, target) in self.files.items():
            names = (path, target) if target else (path,)
            yield ExpectedArtifact(kind="file", names=names, changes=_SPELLINGS[change])

    def _expected_errors(self) -> Iterator[ExpectedArtifact]:
        for error, shown in self.errors.items():
            yield ExpectedArtifact(kind="error", names=(error,), changes=_RESOLVED if shown else (), later=shown)

    def _expected_tasks(self) -> Iterator[ExpectedArtifact]:
        for task, done in self.tasks.items():
            yield ExpectedArtifact(kind="task", names=(task,), changes=_DONE if done else ())

    # Words

    def _path(self, *, new: bool = False) -> str:
        """A path; with `new` one that no file had before."""
        words = world()["files"]
        while True:
            path: str = "/".join((self.random.choice(words["folders"]), self.random.choice(words["stems"])))
            path += (str(self.random.randint(2, 99)) if new else "") + self.random.choice(words["endings"])
            if not new or (path not in self.files and all(path != target for _, target in self.files.values())):
                return path

    def _known(self) -> str:
        """A file that is there: one that was changed before, or another."""
        there = [path for path, (change, _) in self.files.items() if change in ("created", "edited")]
        return self.random.choice(there) if there and self.random.random() < 0.6 else self._path(new=True)

    def _output(self) -> str:
        names = world()["errors"]["words"]
        lines = self.random.randint(*_OUTPUT_LINES)
        return "\n".join(
            f"    {self.random.choice(names)}_{self.random.randint(0, 9)} = load({self.random.choice(names)!r}, {index})"
            for index in range(lines)
        )


# What the text must still say after a compaction: constraints by their key words, artifacts by name and last change.


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedConstraint:
    """`text` is the user's sentence, `words` its key words, which must stand in one line."""

    text: str
    words: tuple[str, ...]
    language: str = "english"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedArtifact:
    """`names` must all stand in one line. `changes` are spellings of what became of it last, one of which must stand near;
    empty where the name is enough. In their place one of `later` may stand in a line further down: the words of the
    conversation that show the change, where they are still there."""

    kind: ArtifactKind
    names: tuple[str, ...]
    changes: tuple[str, ...] = ()
    later: tuple[str, ...] = ()


Split = Literal["development", "held_out"]
LANGUAGES = ("english", "german", "french", "spanish", "italian", "portuguese", "russian")
_KEY = re.compile(r"\*([^*]+)\*")


class SaidPhrase(NamedTuple):
    """A filled phrase, and the key words in it."""

    text: str
    words: tuple[str, ...]


class Phrases(NamedTuple):
    """The phrases of one language in one of the two sets, which have none in common."""

    split: Split
    language: str

    def say(self, kind: str, random: Random, **values: str) -> SaidPhrase:
        """Returns a phrase of this kind, chosen at random and filled. `thing` is chosen where it isn't given."""
        table = _table(self.split)[self.language]
        phrases: list[str] = table[kind]
        phrase = random.choice(phrases)
        filled = phrase.format_map(
            {"thing": random.choice(table["things"]), "number": str(random.randint(3, 60) * 10)} | values
        )
        return SaidPhrase(filled.replace("*", ""), tuple(_KEY.findall(filled)))


@cache
def world() -> Mapping[str, Any]:
    """Returns the words that conversations are made of besides phrases."""
    return _read("world")


@cache
def _table(split: Split) -> Mapping[str, Any]:
    return _read(split)


def _read(name: str) -> Mapping[str, Any]:
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))


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
