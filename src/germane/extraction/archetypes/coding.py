"""Coding: what the events of a coding agent say: files, symbols, commands, errors, tests, causes and fixes.

The rules are sure rather than many. Each looks at a bounded part of the text, in linear time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from germane.extraction.archetypes.extractors import command_of, error_of, is_failure, is_success, lines_of, text_of
from germane.extraction.archetypes.findings import Findings, PatternHint, states
from germane.kinds.events.value import Event
from germane.kinds.events.wording import action_of, content_of, path_of
from germane.kinds.graph.value import EntityFinding, EntityName
from germane.text.normal import fold

_MAX_NAMES = 20
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
            states(EntityName("file", path), "contains", EntityName("symbol", name), 0.9) for name in list(names)[:_MAX_NAMES]
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
            for name in [name for name in names if name][:_MAX_NAMES]
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
    chosen = [name for name in names if name][:_MAX_NAMES]
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
    return list(found)[-_MAX_NAMES:]


# Causes: which command an error came from, and which edit ended it. A fix is claimed only if the same command failed
# and later succeeded, with an edit or another command in between: of several edits each is named, with less confidence.


_NO_WORD = re.compile(r"\W+")
_NEAR_EVENTS = 4
"""Events before an error among which the command that it came from is looked for."""
_MAX_EDITS = 3
"""Files that may have been edited between a failure and a success for one of them to be called the fix."""
_COMMON = frozenset({"error", "errors", "exception", "failed", "failure", "fatal", "file", "found", "line", "name", "warning"})
"""Words of many errors, which don't tell one from another."""
_MAX_WORDS = 6
_MIN_WORD = 4
"""Keywords of a pattern, and their least length in characters."""


def causes(event: Event, before: Sequence[Event]) -> Findings:
    """A command causes the error that its output shows, or that is recorded right after it failed."""
    error = error_of(event)
    command = command_of(event)
    if not error:
        return Findings()
    if action_of(event.type) == "error":
        near = [one for one in before[-_NEAR_EVENTS:] if one.task == event.task and command_of(one)]
        if not near or is_success(near[-1]):
            return Findings()
        command = command_of(near[-1])
    if not command:
        return Findings()
    cause = states(EntityName("command", command), "causes", EntityName("error", error), 0.8)
    return Findings(relations=(cause,))


def fixes(event: Event, before: Sequence[Event]) -> Findings:
    """What was edited or run between a failure of a command and its first success fixes the error, and is a pattern for the
    next time. Where the command fails with the same error again, the same action counts as tried without success."""
    command = command_of(event)
    if not command or not (is_success(event) or is_failure(event)):
        return Findings()
    same = [index for index, one in enumerate(before) if command_of(one) == command and one.task == event.task]
    if not same or not is_failure(before[same[-1]]):
        return Findings()
    start = same[-1]
    between = [one for one in before[start + 1 :] if one.task == event.task]
    error = error_of(before[start]) or next((error_of(one) for one in between if action_of(one.type) == "error"), "")
    files = list(dict.fromkeys(path for one in between if (path := _edited(one))))
    ran = list(dict.fromkeys(command_of(one) for one in between if is_success(one) and command_of(one)))
    if not error or len(files) > _MAX_EDITS or not (files or ran):
        return Findings()
    if is_failure(event):
        if error_of(event) != error:
            return Findings()
        return Findings(patterns=(_hint(error, command, files, ran, succeeded=False),))
    sure = 0.8 if len(files) + len(ran) == 1 else 0.5
    ended = [
        states(source, "fixes", EntityName("error", error), sure)
        for source in ([EntityName("file", file) for file in files] or [EntityName("command", one) for one in ran[-1:]])
    ]
    return Findings(relations=tuple(ended), patterns=(_hint(error, command, files, ran, succeeded=True),))


def _edited(event: Event) -> str:
    if action_of(event.type) not in ("write", "edit"):
        return ""
    path = path_of(content_of(event.raw)) or event.text.partition("\n")[0].partition(": ")[2]
    return " ".join(path[:256].split()).replace("\\", "/").removeprefix("./")


def _hint(error: str, command: str, files: Sequence[str], ran: Sequence[str], *, succeeded: bool) -> PatternHint:
    done = f"edit {', '.join(files)}" if files else f"run `{ran[-1]}`"
    found = [
        word
        for word in dict.fromkeys(_NO_WORD.split(fold(error)))
        if len(word) >= _MIN_WORD and not word.isdigit() and word not in _COMMON
    ]
    return PatternHint(
        action=f"After {error}: {done}, then `{command}`",
        keywords=tuple(found[:_MAX_WORDS]),
        intent="fix",
        succeeded=succeeded,
    )
