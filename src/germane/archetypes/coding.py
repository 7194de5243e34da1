"""Coding: what the events of a coding agent say: files, symbols, imports, commands, errors and tests.

Rules that are sure rather than many. Each looks at a bounded part of the text, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from germane.archetypes.findings import Findings, states
from germane.archetypes.reading import command_of, error_of, is_failure, lines_of, text_of
from germane.events.event import Event
from germane.events.wording import action_of, content_of, path_of
from germane.graph.findings import EntityFinding, EntityName

__all__ = ["commands", "errors", "files", "imports", "symbols", "tests"]

_MOST = 20
"""Symbols, imports and tests of one event."""
_FRAME = re.compile(r"([^\s:]{1,240}\.[A-Za-z]{1,5}):\d{1,6}(?::\d{1,6})?:?")
"""A token such as `src/app.ts:12:3`."""
_SEPARATORS = re.compile(r"[\s\"'()<>\[\],=]+")
_SYMBOL = re.compile(
    r"^[+ \t]{0,40}(?:(?:export|public|private|protected|static|async|pub|default|abstract|final) ){0,3}"
    r"(?:def|class|function|fn|func|struct|interface|trait|enum|type) (?:\([^()\n]{0,80}\) ?)?([A-Za-z_]\w{1,79})\b"
)
_IMPORT = re.compile(
    r"""^[+ \t]{0,40}(?:from ([\w.]{1,80}) import|import ([\w.]{1,80})(?:$|[ ,;])|import .{0,99}?from ["']([^"'\n]{1,80})["']"""
    r"""|.{0,60}?\brequire\(["']([^"'\n]{1,80})["']\)|use ([\w:]{1,80})|#include ?[<"]([^>"\n]{1,80})[>"])"""
)
_TEST = re.compile(r"[^\s:]{1,200}\.py::\S{1,160}")
_SOURCES = re.compile(r"\.(?:pyi?|[cm]?[jt]sx?|rs|go|java|kt|rb|php|cs|swift|scala|c|cc|cpp|h|hpp|sh|sql|vue)$", re.IGNORECASE)


def files(event: Event, before: Sequence[Event]) -> Findings:
    """The file that was read, written or edited, and those that a stack trace or an error names with a line number."""
    action = action_of(event.type)
    found = list[EntityFinding]()
    if action in ("read", "write", "edit") and (path := _path(path_of(content_of(event.raw)))):
        found.append(_file(path))
    if action in ("error", "execute", "test"):
        found += [_file(path) for path in _framed(event)]
    return Findings(entities=tuple(found))


def symbols(event: Event, before: Sequence[Event]) -> Findings:
    """Functions, classes and types that a written or edited source file defines."""
    path = _source(event)
    if not path:
        return Findings()
    names = dict.fromkeys(match[1] for line in lines_of(text_of(event)) if (match := _SYMBOL.match(line)))
    return Findings(
        relations=tuple(
            states(EntityName("file", path), "contains", EntityName("symbol", name), 0.9) for name in list(names)[:_MOST]
        )
    )


def imports(event: Event, before: Sequence[Event]) -> Findings:
    """Packages and modules that a written or edited source file imports."""
    path = _source(event)
    if not path:
        return Findings()
    names = dict[str, None]()
    for line in lines_of(text_of(event)):
        if (match := _IMPORT.match(line)) and (name := next(filter(None, match.groups()), "")):
            names[name.strip(".")] = None
    return Findings(
        relations=tuple(
            states(EntityName("file", path), "imports", EntityName("package", name), 0.9)
            for name in [name for name in names if name][:_MOST]
        )
    )


def commands(event: Event, before: Sequence[Event]) -> Findings:
    """The command that was executed, how it ended last, and the tool that it begins with."""
    command = command_of(event)
    if not command:
        return Findings()
    said = {"last": event.outcome[:40]} if event.outcome else {}
    found = [EntityFinding(type="command", name=command, properties=said)]
    words = command.split()
    tool = next((word for word in words if "=" not in word and word not in ("sudo", "env", "time", "nohup")), "")
    tool = PurePosixPath(tool).name
    if re.fullmatch(r"[A-Za-z][\w.+-]{1,30}", tool) and tool != "cd":
        ran = states(EntityName("command", command), "uses", EntityName("tool", tool), 0.9)
        return Findings(entities=tuple(found), relations=(ran,))
    return Findings(entities=tuple(found))


def errors(event: Event, before: Sequence[Event]) -> Findings:
    """The error of an error event, or of a command or test that failed, and the file where it occurred: the last of the
    project's own that the stack names."""
    error = error_of(event)
    if not error:
        return Findings()
    found = EntityFinding(type="error", name=error)
    own = [path for path in _framed(event) if "site-packages" not in path and "node_modules" not in path]
    if not own:
        return Findings(entities=(found,))
    where = states(EntityName("error", error), "occurs_in", EntityName("file", own[-1]), 0.8)
    return Findings(entities=(found,), relations=(where,))


def tests(event: Event, before: Sequence[Event]) -> Findings:
    """The test that a test event names, and tests that an output names in pytest's form, each with the file it stands in."""
    action = action_of(event.type)
    if action not in ("test", "execute"):
        return Findings()
    names = dict[str, None]()
    content = content_of(event.raw)
    if action == "test" and isinstance(content, Mapping) and isinstance(name := content.get("name"), str):
        names[name.strip()] = None
    for line in lines_of(text_of(event)):
        for token in line.split() if ".py::" in line else ():
            if _TEST.fullmatch(token):
                names[token] = None
    said = {"last": event.outcome[:40]} if event.outcome and len(names) == 1 else {}
    chosen = [name for name in names if name][:_MOST]
    return Findings(
        entities=tuple(EntityFinding(type="test", name=name, properties=said) for name in chosen),
        relations=tuple(
            states(EntityName("file", name.partition("::")[0]), "contains", EntityName("test", name), 0.9)
            for name in chosen
            if "::" in name
        ),
    )


def _file(path: str) -> EntityFinding:
    return EntityFinding(type="file", name=path)


def _source(event: Event) -> str:
    """The path of the source file that the event wrote or edited, else ''."""
    if action_of(event.type) not in ("write", "edit") or not isinstance(content := content_of(event.raw), Mapping):
        return ""
    path = _path(path_of(content))
    return path if _SOURCES.search(path[-40:]) else ""


def _path(path: str) -> str:
    """A path as it is called: on one line, with slashes, without a leading `./`."""
    plain = " ".join(path[:1_000].split()).replace("\\", "/")
    return plain.removeprefix("./") if len(plain) <= 256 else ""


def _framed(event: Event) -> list[str]:
    """The files that lines of the text name with a line number, in order, each once, by its last place."""
    found = dict[str, None]()
    for line in lines_of(text_of(event)) if is_failure(event) else ():
        named = ""
        if line.lstrip().startswith('File "'):
            named = line.partition('File "')[2].partition('", line ')[0]
        elif "." in line and ":" in line:
            named = next((match[1] for token in _SEPARATORS.split(line) if (match := _FRAME.fullmatch(token))), "")
        if (path := _path(named)) and not path[0].isdigit() and "://" not in path:
            found.pop(path, None)
            found[path] = None
    return list(found)[-_MOST:]
