"""Read line: the outline's line of an exchange alone: that of its notes, in a fraction of the time that all the notes take.

A line names the tools that were called and the files that changed. Ids, errors, tasks and constraints aren't in it, so nothing
looks for them; what a text says of files is read only where it names one and has a word for a change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from germane.compaction.ledger import canonical_name
from germane.compaction.notes import Artifact
from germane.compaction.reading.outcome import error_of_outcome
from germane.compaction.reading.outline_line import asked_in, line_of, shown_in, spoken_in
from germane.compaction.reading.references import paths_in
from germane.compaction.reading.statements import changes_in, may_tell_changes
from germane.compaction.reading.tool_actions import command_in, file_changes, tool_arguments
from germane.compaction.wording import masked_facts
from germane.text.own.own_words import MAX_READ, OwnSentence, own_sentences, unquoted_sentences
from germane.types.message import Message, Opaque, Part, Role, Text, ToolCall, ToolResult

__all__ = ["MAX_ANSWER", "MAX_MENTIONED", "read_answer", "read_line", "read_talk"]

MAX_ANSWER = 8_000
"""Characters of an assistant's text that are read for what it states: its beginning and its end."""
MAX_MENTIONED = 8
"""Paths, ids and addresses that are taken from one text."""


def read_line(messages: Sequence[Message]) -> str:
    """Returns the line of `read_exchange` for these messages. Linear; reads a bounded part of each."""
    if not any(_does(part) for message in messages for part in message.parts):
        parts = ((message.role, part.text) for message in messages for part in message.parts if isinstance(part, Text))
        return read_talk(parts)
    reader = _LineReader()
    for message in messages:
        for part in message.parts:
            reader.read(message.role, part)
    return reader.line()


def _does(part: Part) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, Opaque) and bool(part.text))


def read_talk(said: Iterable[tuple[Role, str]]) -> str:
    """Returns the line of an exchange without tool calls: of texts, each with the role of who said it."""
    asked, ended = list[str](), ""
    for role, text in said:
        if role == "user" and text.strip():
            asked += asked_in(text, own_sentences(text, for_task=True))
        elif role == "assistant" and text.strip():
            ended = text
    return line_of(asked, (), (), ended)


def read_answer(text: str) -> str:
    """Returns the part of an assistant's text that is read for what it states."""
    return text if len(text) <= MAX_ANSWER else f"{text[: MAX_ANSWER // 2]}\n{text[-MAX_ANSWER // 2 :]}"


class _LineReader:
    __slots__ = ("_asked", "_calls", "_ended", "_noted", "_tools")

    def __init__(self) -> None:
        self._asked = list[str]()
        self._ended = ""
        self._tools = list[str]()
        self._calls: dict[str, tuple[list[Artifact], bool]] = {}
        """Calls that wait for their results, by id: what each did to files if it succeeds, and whether it runs a command."""
        self._noted = list[Artifact | str]()
        """What became of files, and texts that may name some, in their order."""

    def read(self, role: Role, part: object) -> None:
        match part:
            case Text(text) if role == "user" and text.strip():
                said = own_sentences(text, for_task=True)
                self._asked += asked_in(text, said)
                self._state(text[:MAX_READ], said)
            case Text(text) if role == "assistant" and text.strip():
                self._ended = text
                self._state(read_answer(text))
            case ToolCall():
                self._tools.append(part.name or "tool")
                arguments = tool_arguments(part)
                changes = [Artifact(kind="file", name=path, change=change) for path, change in file_changes(part, arguments)]
                self._calls[part.id] = (changes, bool(command_in(part, arguments)))
            case Opaque() if role == "assistant" and (text := spoken_in(part)).strip():
                self._ended = text
                self._state(read_answer(text))
            case Opaque(text=text) if text.strip():
                self._tools.append(shown_in(part))
            case ToolResult():
                changes, ran = self._calls.pop(part.call_id, ([], False))
                if changes and not error_of_outcome(part, masked_facts(part.text), ran=ran):
                    self._noted += changes

    def line(self) -> str:
        for changes, _ in self._calls.values():
            self._noted += changes
        return line_of(self._asked, self._tools, self._changed(), self._ended)

    def _state(self, text: str, said: Sequence[OwnSentence] | None = None) -> None:
        """Notes the files that a text names and what it says of them. `said` are its sentences, where they are known."""
        self._noted.append(text)
        if may_tell_changes(text) and next(paths_in(text), None) is not None:
            self._noted += changes_in(unquoted_sentences(text) if said is None else said)

    def _changed(self) -> list[str]:
        """The files that changed, the one that was named last standing last, as in a `Ledger`. Where there is but one, no text
        has to be read for names."""
        told = [one for one in self._noted if isinstance(one, Artifact) and one.change not in ("", "read")]
        changed = dict.fromkeys(filter(None, map(canonical_name, told)), 0)
        if len(changed) < 2:
            return list(changed)
        place = 0
        for one in self._noted:
            for name in map(canonical_name, (one,) if isinstance(one, Artifact) else _mentioned(one)):
                if name in changed:
                    changed[name] = place = place + 1
        return sorted(changed, key=lambda name: changed[name])


def _mentioned(text: str) -> Iterator[Artifact]:
    return (Artifact(kind="file", name=found.path) for found in islice(paths_in(text), MAX_MENTIONED))
