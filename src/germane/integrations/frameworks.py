"""Frameworks: what the adapters of agent frameworks share: their options, and stand-ins for a framework's messages.

An error of an adapter never fails a run. A stand-in is a framework's message as a message of the chat API, so that `compact`
can read, count and move it. The framework keeps its own objects and writes the request itself; a stand-in only says what a
message says and costs. What is neither text nor a picture (thinking, files, calls that the provider ran itself) is held unread,
by its weight. Names and ids that the chat API would refuse are replaced, so that no stand-in has to be rewritten.
"""

from __future__ import annotations

import json
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.dialects.fields import json_text, tool_name
from germane.dialects.tools import convert_tools
from germane.integrations.compactor import compact
from germane.kinds.conversations.messages import entry_text
from germane.kinds.conversations.value import Archive, ArchiveEntry
from germane.text.injected import HANDLE, earlier_text

_LOG = logging.getLogger("germane.integrations")
_Sent = TypeVar("_Sent")
T = TypeVar("T")


class FrameworkCompaction:
    """Compacts what a framework is about to send. One object may serve many runs at once.

    `model` overrides the name that the framework knows; `max_tokens` is the budget of a request, the model's window less the
    room for its answer where it is None. Raises `InvalidInput` for options that can't be used, at once and not in a run."""

    def __init__(
        self,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        strategy: CompactionStrategy | None = None,
        archive: Archive | None = None,
    ) -> None:
        self.model, self.max_tokens, self.archive = model, max_tokens, archive
        self.strategy = strategy if strategy is not None else Summarise()
        self._warned = False

    def compact(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        model: str,
        provider: str = "openai",
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Compaction:
        return compact(
            messages,
            model=self.model or model,
            max_tokens=self.max_tokens,
            provider=provider,
            system=system or None,
            tools=tools,
            strategy=self.strategy,
            archive=self.archive,
        )

    def safely(self, compacted: Callable[[], _Sent], unchanged: _Sent) -> _Sent:
        """Returns what `compacted` returns; `unchanged` where it raises, which is logged as a warning the first time."""
        try:
            return compacted()
        except Exception as error:
            level = logging.DEBUG if self._warned else logging.WARNING
            self._warned = True
            _LOG.log(level, "germane couldn't compact a conversation, which was sent as it was (said once): %r", error)
            return unchanged


class EarlierTool(NamedTuple):
    """The tool `show_earlier` for one archive, as frameworks take tools. `show(handle, start=0)` never raises."""

    name: str
    description: str
    parameters: dict[str, Any]
    show: Callable[..., str]


def earlier_tool(archive: Archive) -> EarlierTool:
    """Returns the tool that brings back what the archive keeps."""
    function = tool_definition()["function"]
    show = partial(show_earlier, archive=archive)
    return EarlierTool(function["name"], function["description"], dict(function["parameters"]), show)


def is_unchanged(compaction: Compaction, given: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether the messages are those given, all and in order."""
    return len(compaction.messages) == len(given) and all(
        index == origin and message is given[index]
        for index, (message, origin) in enumerate(zip(compaction.messages, compaction.origins, strict=True))
    )


def runs_of_calls(messages: Iterable[T], calls: Callable[[T], bool | None], results: Callable[[T], bool]) -> Iterator[list[T]]:
    """Yields the messages, each alone, but together those of the model's in a row that begin with calls, up to the last one
    with calls or, where results follow, to the end of the row: some frameworks give one turn so. `calls` says whether a
    message of the model's has calls, None for any other message; `results` says whether a message has results."""
    row = list[T]()
    for message in messages:
        has_calls = calls(message)
        if has_calls is not None and (row or has_calls):
            row.append(message)
            continue
        yield from _as_turns(row, calls, whole=results(message))
        row = []
        yield [message]
    yield from _as_turns(row, calls, whole=False)


def _as_turns(row: list[T], calls: Callable[[T], bool | None], *, whole: bool) -> Iterator[list[T]]:
    end = len(row) if whole else max((index for index, message in enumerate(row) if calls(message)), default=-1) + 1
    if end:
        yield row[:end]
    yield from ([message] for message in row[end:])


# Stand-ins.


_LONGEST_ID = 40


class CallIds:
    """Gives each id of a call one that the chat API takes. The same id always gets the same, counted in order of appearance."""

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def fit(self, id: str | None) -> str:
        if id and len(id) <= _LONGEST_ID:
            return id
        return self._given.setdefault(id or "", f"call_fit_{len(self._given)}")


def said(role: str, content: str | Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A message of the user's or the system's."""
    return {"role": role, "content": content if isinstance(content, str) else list(content) or ""}


def assistant(text: str, calls: Sequence[Mapping[str, Any]], unread: Sequence[Any] = ()) -> dict[str, Any]:
    """A message of the model's. `unread` are its parts that aren't text: the chat API has one place for such, an answer's
    audio."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = list(calls)
    if unread:
        message["audio"] = {"held": list(unread)}
    return message


def tool_call(id: str, name: str, arguments: object) -> dict[str, Any]:
    return {
        "id": id,
        "type": "function",
        "function": {"name": tool_name(name), "arguments": json_text({} if arguments is None else arguments)},
    }


def result(call_id: str, text: str, unread: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """A tool's result. `unread` are its pictures and files, which count beside the text."""
    content = [{"type": "text", "text": text}, *unread] if unread else text
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def held(value: object) -> dict[str, Any]:
    """A part of the user's, or of a result, that counts and isn't read."""
    return {"type": "file", "file": {"held": value}}


def picture(url: str, detail: str = "auto") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def plain_text(content: object) -> str:
    """The text of a message that `compact` wrote itself: a string, or the texts of its parts."""
    if isinstance(content, str):
        return content
    parts: Iterable[Any] = content if isinstance(content, list | tuple) else ()
    texts = (part.get("text") if isinstance(part, Mapping) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def kept_calls(given: Mapping[str, Any], written: Mapping[str, Any]) -> dict[int, str | None]:
    """Which calls of a stand-in are still calls in the message written for it, by number; the value is a new id, None where the
    id is the same."""
    left = list(written.get("tool_calls") or ())
    kept: dict[int, str | None] = {}
    for number, call in enumerate(given.get("tool_calls") or ()):
        if left and left[0]["function"] == call["function"]:
            kept[number] = None if left[0]["id"] == call["id"] else left[0]["id"]
            del left[0]
    return kept


# Archives: where a compaction without a store keeps what it takes out, and the tool with which a model reads it again.
# An archive is in memory, or in a folder.


_HANDLE = re.compile(HANDLE)


class MemoryArchive:
    """Implements `Archive` in memory, for as long as the object lives."""

    def __init__(self) -> None:
        self._entries: dict[str, ArchiveEntry] = {}

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        for entry in entries:
            self._entries[entry.handle] = entry

    def get(self, handle: str) -> ArchiveEntry | None:
        return self._entries.get(handle)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<MemoryArchive {len(self)} entries>"


class FolderArchive:
    """Implements `Archive` in a folder, which is made where it is missing: one JSON file for each entry, named by its handle.
    A file is written beside its place and then moved there, so that a reader finds it whole or not at all."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        """Raises `OSError` where the folder can't be written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for entry in entries:
            place = self._place(entry.handle)
            if place is None:
                raise ValueError("the entry's handle isn't one of germane's")
            fields = {**asdict(entry), "messages": list(entry.messages)}
            descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=self.path)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(fields, file, ensure_ascii=True)
                Path(name).replace(place)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise

    def get(self, handle: str) -> ArchiveEntry | None:
        """Returns the entry; None where no file holds one of this handle."""
        place = self._place(handle)
        try:
            fields: Any = None if place is None else json.loads(place.read_text("utf-8"))
            if not isinstance(fields, dict) or fields.get("handle") != handle:
                return None
            return ArchiveEntry(**{**fields, "messages": tuple(fields["messages"])})
        except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def _place(self, handle: str) -> Path | None:
        """The file of a handle; None for a text that is no handle, so that none leads out of the folder."""
        return self.path / f"{handle}.json" if isinstance(handle, str) and _HANDLE.fullmatch(handle) else None

    def __repr__(self) -> str:
        return f"<FolderArchive {self.path}>"


# The tool with which a model reads again what was taken out of its conversation.


_MAX_CHARACTERS = 20_000
_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "show_earlier",
        "description": "Returns messages or a tool's output that were taken out of this conversation, by the handle in their "
        "place.",
        "parameters": {
            "type": "object",
            "properties": {
                "handle": {"type": "string", "description": "Such as h0a1b2c3d4e5f."},
                "start": {"type": "integer", "description": "The character to begin with, where the text was cut before."},
            },
            "required": ["handle"],
        },
    },
}


def tool_definition(provider: str = "openai") -> Mapping[str, Any]:
    """Returns the tool `show_earlier` in the shape of the provider. Raises `UnknownName` for an unknown one."""
    return convert_tools([_TOOL], provider).tools[0]


def show_earlier(handle: str, archive: Archive, *, start: int = 0, max_characters: int = _MAX_CHARACTERS) -> str:
    """Returns what the archive has under the handle, as text for a tool's result: at most `max_characters` from the character
    `start` on, between two lines by which germane knows its own text again. What can't be found or read is said in the text;
    nothing is raised."""
    try:
        entry = archive.get(handle) if isinstance(handle, str) else None
    except Exception as error:
        return f"The archive can't be read now ({type(error).__name__})."
    if entry is None:
        return "The archive has nothing under this handle."
    before = f"[What was said before: handle {entry.previous}]\n\n" if entry.previous else ""
    text = before + entry_text(entry)
    start = max(0, start) if isinstance(start, int) else 0
    shown = text[start : start + max_characters]
    rest = len(text) - start - len(shown)
    return earlier_text(handle, f"{shown}\n[{rest} more characters: start={start + len(shown)}]" if rest > 0 else shown)
