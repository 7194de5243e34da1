"""Shell files: what a shell command does to files, read from its words, without running anything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

__all__ = ["FileChange", "shell_changes"]

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
            if word[0] == ">" and plain and plain[-1] in ("1", "2"):
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
            inside = target.endswith("/") or len(files) > 2
            yield file, f"renamed to {target.rstrip('/')}/{file.rpartition('/')[2]}" if inside else f"renamed to {target}"
    elif name == "cp" and len(files) == 2:
        yield files[1], "created"
    elif name == "touch":
        yield from ((file, "created") for file in files)
    elif name == "tee":
        yield from ((file, "edited" if "-a" in arguments else "created") for file in files)
    elif name == "sed" and any(word.startswith(("-i", "--in-place")) for word in arguments) and len(files) > 1:
        yield from ((file, "edited") for file in files[1:])
    elif name == "restore":
        yield from ((file, "restored") for file in files)
    elif name in _READS:
        yield from ((file, "read") for file in files if "." in file or "/" in file)
