"""Tool actions: what a tool call did to files, which command it ran, and which tasks it wrote down.

The actions are read from the names and arguments of the tools that coding agents have: those of editors, of shells,
patches, and task lists.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.compaction.notes import Artifact
from germane.compaction.reading.statements import plain_path
from germane.dialects.fields import json_object
from germane.kinds.events.wording import action_of, path_of
from germane.types.message import ToolCall

_NAMES = {
    "create": "create createfile filecreate newfile",
    "write": "write writefile filewrite writetofile savefile fswrite putfile overwritefile createorupdatefile uploadfile save",
    "edit": (
        "edit editfile fileedit multiedit strreplace replaceinfile searchreplace insert insertline updatefile modifyfile"
        " patchfile applydiff appendfile appendtofile notebookedit replacestringinfile multireplacestringinfile"
        " inserteditintofile modify update undoedit replace searchandreplace replacelines"
    ),
    "delete": "delete deletefile removefile rm remove unlink filedelete trash",
    "rename": "rename renamefile movefile mv move filemove filerename",
    "read": "read readfile fileread view viewfile open openfile cat getfilecontents getfile readmanyfiles notebookread",
    "patch": "applypatch patch",
    "editor": "strreplaceeditor strreplacebasededittool memory texteditor editor fseditor",
    "shell": (
        "bash shell execute executecommand runcommand terminal exec execcommand runinterminal runterminalcmd shellexec"
        " localshell runshellcommand sh cmd powershell executebash run runterminalcommand runtests"
    ),
    "todo": (
        "todowrite writetodos updateplan managetodolist updatetodolist settodos taskcreate createtask addtask todo todos"
        " plan updatetodos"
    ),
}
_ACTIONS: Mapping[str, str] = MappingProxyType({name: action for action, names in _NAMES.items() for name in names.split()})
_OF_EVENTS: Mapping[str, str] = MappingProxyType(
    {"execute": "shell", "test": "shell", "read": "read", "write": "write", "edit": "edit"}
)
_LETTERS = re.compile(r"[^a-z]+")
_NAME_SEPARATOR = re.compile(r"__|[./:]")
_PATHS = (
    *(
        "path",
        "file_path",
        "filepath",
        "filePath",
        "file",
        "filename",
        "fileName",
        "target_file",
        "targetFile",
        "notebook_path",
    ),
    *("absolute_path", "absolutePath", "relative_path", "target", "uri", "file_name", "relative_workspace_path"),
)
_RENAMES = (
    *(("old_path", "new_path"), ("source", "destination"), ("src", "dst"), ("from", "to"), ("path", "new_path")),
    *(("old_name", "new_name"), ("sourcePath", "destinationPath"), ("oldPath", "newPath"), ("source_path", "destination_path")),
    *(("from_path", "to_path"), ("file_path", "new_path"), ("path", "destination"), ("old", "new")),
)
_COMMANDS = ("command", "cmd", "script", "code", "args", "input")
_PATCHED = re.compile(
    r"^\*\*\* (Add|Update|Delete) File: (.{1,256})$|^\*\*\* Move to: (.{1,256})$|^(---|\+\+\+) (?:[ab]/)?([^\t\n]{1,256})"
    r"|^rename (from|to) (.{1,256})$",
    re.MULTILINE,
)
_EDITOR: Mapping[str, str] = MappingProxyType(
    {"view": "read", "create": "create", "delete": "delete", "rename": "rename", "str_replace": "edit", "insert": "edit"}
)
_DONE_TO_FILES = MappingProxyType(
    {"create": "created", "write": "created", "edit": "edited", "delete": "deleted", "read": "read"}
)
_LIST_KEYS = ("todos", "plan", "items", "tasks", "todoList", "todo_list", "steps", "todo")
_TITLE_KEYS = ("content", "step", "title", "text", "subject", "task", "name", "description")
_STATE_KEYS = ("status", "state", "done", "completed")
_FINISHED = frozenset({"completed", "complete", "done", "finished", "cancelled", "canceled", "closed", "true", "x"})
_BOX = re.compile(r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])[ \t]{1,4}\[([ xX✓-])\][ \t]{1,4}(\S[^\n]{0,300})", re.MULTILINE)


def tool_arguments(call: ToolCall) -> Mapping[str, Any]:
    """Returns the arguments of a call; text that isn't a JSON object stands under `arguments`."""
    return json_object(call.arguments)


def command_in(call: ToolCall, arguments: Mapping[str, Any]) -> str:
    """Returns the command that a call ran, '' for a tool that runs none."""
    if _action(call.name) != "shell":
        return ""
    for name in _COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _of_list(value)
    rest = arguments.get("arguments")
    return rest.strip() if isinstance(rest, str) else ""


def file_changes(call: ToolCall, arguments: Mapping[str, Any]) -> list[FileChange]:
    """Returns what a call did to files, provided that it succeeded: the path, and `read`, `created`, `edited`, `deleted`,
    `restored` or `renamed to …`. Linear."""
    action = _action(call.name)
    if action == "editor":
        action = _EDITOR.get(str(arguments.get("command", "")), "edit")
    if action == "shell":
        changes = shell_changes(command_in(call, arguments))
        # Some agents send patches through the shell: the text stands in a heredoc, which `shell_changes` leaves out.
        patch = next((text for text in arguments.values() if isinstance(text, str) and "*** Begin Patch" in text[:2_000]), "")
        changes += _patched(patch) if patch else []
    elif action == "patch":
        text = next((value for value in arguments.values() if isinstance(value, str) and "\n" in value), "")
        changes = _patched(text)
        if not changes and (path := _path(arguments)):
            changes = [(path, "edited")]
    elif action == "rename":
        pair = next((pair for pair in _RENAMES if all(isinstance(arguments.get(name), str) for name in pair)), None)
        changes = [(arguments[pair[0]], f"renamed to {plain_path(arguments[pair[1]])}")] if pair else []
    elif action in _DONE_TO_FILES:
        several = arguments.get("paths") or arguments.get("files") or ()
        paths = [_path(arguments)] if not isinstance(several, list) or not several else map(_path_of_entry, several)
        changes = [(path, _DONE_TO_FILES[action]) for path in paths]
    else:
        return []
    return [(plain, change) for path, change in changes if (plain := plain_path(path)) and not plain.endswith(":")]


def listed_tasks(call: ToolCall, arguments: Mapping[str, Any]) -> Iterator[Artifact]:
    """Yields the tasks that a tool of tasks writes down, each `open` or `done`."""
    if _action(call.name) != "todo":
        return
    given: Any = next((arguments[name] for name in _LIST_KEYS if arguments.get(name)), arguments)
    if isinstance(given, str):
        yield from boxes_in(given)
        return
    for entry in given if isinstance(given, Sequence) else (given,):
        if isinstance(entry, str):
            yield Artifact(kind="task", name=_line(entry), change="open")
        elif isinstance(entry, Mapping):
            title = next((entry[name] for name in _TITLE_KEYS if isinstance(entry.get(name), str) and entry[name].strip()), "")
            state = next((str(entry[name]) for name in _STATE_KEYS if name in entry), "")
            if title:
                yield Artifact(kind="task", name=_line(title), change="done" if state.lower() in _FINISHED else "open")


def boxes_in(text: str) -> Iterator[Artifact]:
    """Yields the tasks of a list with boxes, `- [ ] write the docs`. Linear."""
    if "[" in text:
        for box in _BOX.finditer(text):
            yield Artifact(kind="task", name=_line(box[2]), change="open" if box[1] in " -" else "done")


def _action(name: str) -> str:
    """What a tool does, by the last part of its name, as tools of servers have prefixes; '' for any other tool."""
    last = _NAME_SEPARATOR.split(name)[-1]
    plain = _LETTERS.sub("", last.lower())
    return _ACTIONS.get(plain) or _OF_EVENTS.get(action_of(last.lower()) or "", "")


def _path(arguments: Mapping[str, Any]) -> str:
    return next(
        (arguments[name] for name in _PATHS if isinstance(arguments.get(name), str) and arguments[name]), path_of(arguments)
    )


def _path_of_entry(entry: Any) -> str:
    return entry if isinstance(entry, str) else _path(entry) if isinstance(entry, Mapping) else ""


def _of_list(words: Sequence[str]) -> str:
    """The command of a list of words; of `bash -lc …` what it runs."""
    return words[-1] if len(words) > 2 and words[1] in ("-c", "-lc") else " ".join(words)


def _patched(text: str) -> list[FileChange]:
    found, source = list[FileChange](), ""
    for match in _PATCHED.finditer(text):
        if match[1]:
            found.append((match[2], {"Add": "created", "Update": "edited", "Delete": "deleted"}[match[1]]))
        elif match[3] and found:
            found[-1] = (found[-1][0], f"renamed to {plain_path(match[3])}")
        elif match[6]:
            source = match[7] if match[6] == "from" else source
            found += [(source, f"renamed to {plain_path(match[7])}")] if match[6] == "to" else []
        elif match[4] == "---":  # the old name; the line `+++` below it has the new one, and what was done follows from both
            source = match[5]
        elif match[4]:
            none = "/dev/null"
            found.append((source, "deleted") if match[5] == none else (match[5], "created" if source == none else "edited"))
    return found


def _line(text: str) -> str:
    return " ".join(text[:600].split())[:200]


# What a shell command does to files, read from its words, without running anything.


FileChange = tuple[str, str]
"""A path, and what became of it."""

_MAX_READ = 4_000
_WORD = re.compile(r"'([^'\n]*+)'|\"([^\"\n]*+)\"|(>>?|&&|\|\|?|;|\n|<<?-?|&)|([^\s'\"<>|;&]++)")
_BREAKS = frozenset({"&&", "||", "|", ";", "\n", "&"})
_HEREDOC = re.compile(r"<<-?[ \t]{0,4}['\"]?(\w{1,40})['\"]?")
_LEADS = frozenset({"sudo", "env", "time", "nohup", "command", "exec", "then", "do"})
_READS = frozenset({"cat", "head", "tail", "less", "more", "bat", "nl"})
_DELETES = frozenset({"rm", "unlink", "trash", "del"})
_NO_FILE = re.compile(r"[*$?{}`()]|^/dev/|^\d+$")


def shell_changes(command: str) -> list[FileChange]:
    """Returns the changes of files that a command line makes, in order: `rm`, `mv`, `git mv`, `cp`, `touch`, `tee`, `sed -i`,
    redirections, `cat`. Reads 4,000 characters. Linear."""
    found = list[FileChange]()
    for words in _commands(_without_heredocs(command[:_MAX_READ])):
        found += _of(words)
    return [(path, change) for path, change in found if path and not _NO_FILE.search(path)]


def _without_heredocs(command: str) -> str:
    """The command without the texts that stand in it, up to their marks."""
    if "<<" not in command:
        return command
    kept, mark = list[str](), ""
    for line in command.split("\n"):
        if mark:
            mark = "" if line.strip() == mark else mark
            continue
        kept.append(line)
        begun = _HEREDOC.search(line)
        mark = begun[1] if begun else ""
    return "\n".join(kept)


def _commands(command: str) -> Iterator[list[str]]:
    """The words of each simple command; a redirection stays a word of its own."""
    words = list[str]()
    for match in _WORD.finditer(command):
        sign = match[3]
        if sign in _BREAKS:
            if words:
                yield words
            words = []
        else:
            words.append(sign or match[1] or match[2] or match[4] or "")
    if words:
        yield words


def _of(words: Sequence[str]) -> Iterator[FileChange]:
    plain, redirected = _redirections(words)
    # `sudo`, `env`, `PATH=… make`: what runs stands behind them.
    while plain and (plain[0] in _LEADS or ("=" in plain[0] and not plain[0].startswith("-"))):
        plain = plain[1:]
    if plain:
        name = plain[0].rpartition("/")[2]
        if name == "git" and len(plain) > 2:
            yield from _of_tool({"rm": "rm", "mv": "mv", "restore": "restore"}.get(plain[1], ""), plain[2:])
        else:
            yield from _of_tool(name, plain[1:])
    yield from redirected


def _redirections(words: Sequence[str]) -> tuple[list[str], list[FileChange]]:
    plain, changes, sign = list[str](), list[FileChange](), ""
    for word in words:
        if word in (">", ">>", "<", "<<", "<<-"):
            if word[0] == ">" and plain and plain[-1] in ("1", "2"):  # `2> errors`: the number is no argument
                plain.pop()
            sign = word
        elif sign:
            if sign[0] == ">":
                changes.append((word, "created" if sign == ">" else "edited"))
            sign = ""
        else:
            plain.append(word)
    return plain, changes


def _of_tool(name: str, arguments: Sequence[str]) -> Iterator[FileChange]:
    files = [word for word in arguments if word and not word.startswith("-")]
    if name in _DELETES:
        yield from ((file, "deleted") for file in files)
    elif name == "mv" and len(files) > 1:
        target = files[-1]
        for file in files[:-1]:
            # Nothing says whether the last name is a folder: a slash or several sources do.
            inside = target.endswith("/") or len(files) > 2
            yield file, f"renamed to {target.rstrip('/')}/{file.rpartition('/')[2]}" if inside else f"renamed to {target}"
    elif name == "cp" and len(files) == 2:
        yield files[1], "created"
    elif name == "touch":
        yield from ((file, "created") for file in files)
    elif name == "tee":
        yield from ((file, "edited" if "-a" in arguments else "created") for file in files)
    elif name == "sed" and any(word.startswith(("-i", "--in-place")) for word in arguments) and len(files) > 1:
        yield from ((file, "edited") for file in files[1:])  # the first is the expression
    elif name == "restore":
        yield from ((file, "restored") for file in files)
    elif name in _READS:
        # A word without a point or a slash is a count or a pattern more often than a file.
        yield from ((file, "read") for file in files if "." in file or "/" in file)
