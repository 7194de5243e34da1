"""Exchange: the notes of one exchange, found by rules, without a language model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

from germane.compaction.notes import Artifact, Constraint, ErrorResolution, ExchangeNotes, Ledger
from germane.compaction.placeholders import masked_facts
from germane.compaction.reading.outline_line import MAX_MENTIONED, asked_in, line_of, one_line, read_answer, shown_in, spoken_in
from germane.compaction.reading.results import error_of_outcome, reported_error
from germane.compaction.reading.statements import constraints_of, ids_in, json_ids, paths_in, statements_in, urls_in
from germane.compaction.reading.tool_actions import boxes_in, command_in, file_changes, listed_tasks, tool_arguments
from germane.text.own_words.own_words import MAX_READ, OwnSentence, own_sentences, unquoted_sentences
from germane.types.message import Message, Opaque, Text, ToolCall, ToolResult

_MAX_RESULT = 4_000
"""Characters of a tool's result that are read for ids."""
_MAX_COMMAND = 120
_MAX_RESOLUTIONS = 32
"""Commands that succeeded, the newest, which an exchange notes."""


def read_exchange(messages: Sequence[Message]) -> ExchangeNotes:
    """Returns the notes of one exchange, or of a part of one. Deterministic; linear; reads a bounded part of each message. What
    a tool returned and what the assistant said is never a constraint."""
    reader = _Reader()
    for message in messages:
        reader.read(message)
    return reader.notes()


class _Reader:
    __slots__ = ("_asked", "_calls", "_changed", "_constraints", "_ended", "_ledger", "_newest", "_resolutions", "_tools")

    def __init__(self) -> None:
        self._ledger = Ledger()
        self._constraints: dict[str, Constraint] = {}
        self._asked = list[str]()
        self._ended = ""
        self._tools = list[str]()
        self._calls: dict[str, tuple[ToolCall, list[Artifact], str]] = {}
        """Calls that wait for their results, by id: what each did if it succeeds, and its command."""
        self._resolutions: dict[str, ErrorResolution] = {}
        """What succeeded or is said to be fixed, by its command or type."""
        self._newest = ""
        """The name of the newest error."""
        self._changed = ""
        """The file that was changed last, and how."""

    def read(self, message: Message) -> None:
        for part in message.parts:
            match part:
                case Text(text) if text.strip() and message.role == "user":
                    self._user(text)
                case Text(text) if text.strip() and message.role == "assistant":
                    self._assistant(text)
                case ToolCall():
                    self._call(part)
                case ToolResult():
                    self._result(part)
                case Opaque() if message.role == "assistant" and (text := spoken_in(part)).strip():
                    self._assistant(text)
                case Opaque(text=text) if text.strip():
                    self._tools.append(shown_in(part))

    def notes(self) -> ExchangeNotes:
        for _, changes, _ in self._calls.values():
            self._note(changes)
        found = self._ledger.artifacts
        changed = [one.name for one in found if self._tools and one.kind == "file" and one.change not in ("", "read")]
        line = line_of(self._asked, self._tools, changed, self._ended)
        return ExchangeNotes(
            line=line,
            constraints=tuple(self._constraints.values()),
            artifacts=found,
            resolutions=tuple(self._resolutions.values())[-_MAX_RESOLUTIONS:],
        )

    def _user(self, text: str) -> None:
        said = own_sentences(text, for_task=True)
        for constraint in constraints_of(said):
            self._constraints.pop(constraint.text, None)
            self._constraints[constraint.text] = constraint
        self._asked += asked_in(text, said)
        if error := reported_error(text):
            self._fail(error, "")
        self._mention(text[:MAX_READ])
        self._state(said)

    def _assistant(self, text: str) -> None:
        self._ended = text
        text = read_answer(text)
        self._mention(text)
        self._state(unquoted_sentences(text))
        self._note(boxes_in(text))

    def _state(self, said: Sequence[OwnSentence]) -> None:
        for artifact in statements_in(said):
            if artifact.kind == "error":
                self._fixed(artifact)
            else:
                self._note((artifact,))

    def _mention(self, text: str) -> None:
        self._note(Artifact(kind="file", name=found.path) for found in islice(paths_in(text), MAX_MENTIONED))
        self._references(text)

    def _references(self, text: str) -> None:
        self._note(Artifact(kind="url", name=url) for url in islice(urls_in(text), MAX_MENTIONED))
        self._note(Artifact(kind="id", name=name) for name in islice(ids_in(text), MAX_MENTIONED))

    def _call(self, call: ToolCall) -> None:
        self._tools.append(call.name or "tool")
        arguments = tool_arguments(call)
        changes = [Artifact(kind="file", name=path, change=change) for path, change in file_changes(call, arguments)]
        self._calls[call.id] = (call, [*changes, *listed_tasks(call, arguments)], command_in(call, arguments))
        if not changes:
            self._named(call.arguments)

    def _result(self, result: ToolResult) -> None:
        _, changes, command = self._calls.pop(result.call_id, (None, (), ""))
        facts = masked_facts(result.text)
        error = error_of_outcome(result, facts, ran=bool(command))
        if facts is not None:
            self._note(Artifact(kind="id", name=name) for name in facts.ids)
        if error:
            self._fail(error, command)
            return
        written = result.text[:200].casefold()
        overwritten = "updated" in written or "overw" in written
        self._note(replace(one, change="edited") if overwritten and one.change == "created" else one for one in changes)
        if command:
            self._succeed(command)
        self._named(result.text)

    def _named(self, text: str) -> None:
        """Takes the ids and addresses of a call's arguments or of its result."""
        text = text[:_MAX_RESULT]
        if '"' in text:
            self._note(Artifact(kind="id", name=name) for name in islice(json_ids(text), MAX_MENTIONED))
        self._note(Artifact(kind="url", name=url) for url in islice(urls_in(text), 3))

    def _fail(self, error: str, command: str) -> None:
        self._newest = f"{error} (`{one_line(command, _MAX_COMMAND)}`)" if command else error
        self._ledger.note(Artifact(kind="error", name=self._newest))

    def _succeed(self, command: str) -> None:
        """Notes that a command succeeded: what failed before in the same way, here or in an exchange before, is resolved."""
        line = one_line(command, _MAX_COMMAND)
        how = f"resolved by {self._changed}; `{line}` succeeds" if self._changed else f"resolved: `{line}` succeeds"
        self._resolve(ErrorResolution(of=line, change=how))

    def _fixed(self, artifact: Artifact) -> None:
        """Notes what a sentence says to have fixed: the errors of the type that it names, else the newest one."""
        if artifact.name:
            self._resolve(ErrorResolution(of=artifact.name, change=artifact.change))
        elif self._newest:
            self._ledger.note(replace(artifact, name=self._newest))
            self._newest = ""

    def _resolve(self, resolution: ErrorResolution) -> None:
        self._ledger.resolve(resolution)
        self._resolutions.pop(resolution.of, None)
        self._resolutions[resolution.of] = resolution

    def _note(self, artifacts: Iterable[Artifact]) -> None:
        for artifact in artifacts:
            if artifact.name:
                self._ledger.note(artifact)
                if artifact.kind == "file" and artifact.change not in ("", "read"):
                    self._changed = f"{artifact.name} ({artifact.change})"
