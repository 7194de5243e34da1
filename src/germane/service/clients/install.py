"""Install: plans what changes in a client's settings files for germane to come in, and to go out again."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput
from germane.service.clients.changes import ChangeRecord, FileChange, file_bytes, is_private, text_of
from germane.service.clients.entries import BEGIN, END, CodingAgent, Entry, HookKind, SettingsFile, Where, is_own, toml_block
from germane.service.clients.jsonc import entries, found, read, with_item, with_member, without_part
from germane.service.local.caller import ServiceState

_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
"""The mark of the byte order, which some editors begin a file with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes of the files. `kind` is how hooks reach the service; `remarks` are for the person."""

    changes: tuple[FileChange, ...]
    kind: HookKind = "command"
    remarks: tuple[str, ...] = ()


def plan_install(client: CodingAgent, where: Where, state: ServiceState, kind: HookKind | None = None) -> Plan:
    """Returns what has to change; nothing where all is there. By default hooks call the service directly where the settings
    file, which then holds its key, is this person's alone, and run a command elsewhere. Raises `InvalidInput` for a file that
    can't be read, and for an entry of the same name that isn't germane's."""
    remarks = []
    if kind is None:
        kind = "http" if client.name == "claude-code" and state.port and state.key else "command"
        if kind == "http" and not is_private(client.files(where, state, kind)[0].path):
            kind = "command"
            remarks.append(
                "others on this machine can read the settings file, so its hooks run a command and hold no key (about 20 ms"
                " more for each prompt); with chmod 600, and installed again, they call the service directly"
            )
    changes = []
    for file in client.files(where, state, kind):
        before = file_bytes(file.path)
        changes.append(FileChange(path=file.path, before=before, after=_with_entries(file, before)))
    return Plan(changes=tuple(changes), kind=kind, remarks=tuple(remarks))


def plan_uninstall(client: CodingAgent, where: Where, record: ChangeRecord) -> Plan:
    """Returns what has to change for the files to be as they were before; where others have changed a file since, for nothing
    of germane's to be left in it."""
    made, changes, remarks = record.read(), list[FileChange](), list[str]()
    files = {file.path: file for file in client.files(where, ServiceState({}), "command")}
    for path in (*files, *(path for path in map(Path, made) if path not in files)):
        now = file_bytes(path)
        known = made.get(str(path))
        if now is None:
            continue
        if known is not None and (back := known.undone(now)) is not None:
            changes.append(back)
            continue
        file = files.get(path) or SettingsFile(path=path, entries=(), is_toml=path.suffix == ".toml")
        after = _without_entries(file, now)
        if after != now:
            changes.append(FileChange(path=path, before=now, after=after))
            if known is not None:
                remarks.append(f"{path} was changed by others since: only what is germane's is taken out")
    return Plan(changes=tuple(changes), remarks=tuple(remarks))


def _with_entries(file: SettingsFile, before: bytes | None) -> bytes:
    """The file with what germane has in it and nothing else changed. Checked: it says what it said before, and the entries."""
    if before is not None and _holds(file, before):
        return before
    clean = _without_entries(file, before or b"")
    text = text_of(file.path, clean)
    mark, text = (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
    expected = _data(file, text)
    for entry in file.entries:
        _check_free(file, entry, expected)
        _add(expected, entry)
    made = _toml_with(text, file.entries) if file.is_toml else _json_with(file, text)
    if _data(file, made) != expected:
        raise InvalidInput(f"{file.path} is written in a way that can't be changed safely: add the entries by hand")
    return (mark + made).encode()


def _holds(file: SettingsFile, data: bytes) -> bool:
    """Whether the file has just the entries that it shall have, and no others of germane's."""
    now = _data(file, text_of(file.path, data).removeprefix(_MARK))
    clean = _data(file, text_of(file.path, _without_entries(file, data)).removeprefix(_MARK))
    try:
        for entry in file.entries:
            _check_free(file, entry, clean)
            _add(clean, entry)
    except InvalidInput:
        return False
    return bool(now == clean)


def _json_with(file: SettingsFile, text: str) -> str:
    for entry in file.entries:
        text = with_item(text, entry.path, entry.value) if entry.each else with_member(text, entry.path, entry.value)
    return text


def _toml_with(text: str, entries: Sequence[Entry]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + gap + toml_block(entries).replace("\n", newline)


def _without_entries(file: SettingsFile, data: bytes) -> bytes:
    """The file without anything of germane's. Objects and lists that were made for it go too, where nothing else is in them."""
    text = text_of(file.path, data)
    mark, text = (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
    try:
        return (mark + (_toml_without(text) if file.is_toml else _json_without(text))).encode()
    except (InvalidInput, tomllib.TOMLDecodeError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: SettingsFile, error: Exception) -> InvalidInput:
    return InvalidInput(f"{file.path} can't be read ({error}): it was left as it is; correct it, and run the command again")


def _toml_without(text: str) -> str:
    while (start := text.find(BEGIN)) >= 0:
        end = text.find(END, start)
        if end < 0:
            raise InvalidInput("the block of germane's has no end")
        end = text.find("\n", end) + 1 or len(text)
        head = text[:start]
        for newline in ("\r\n\r\n", "\n\n"):
            if head.endswith(newline):
                head = head[: -len(newline) // 2]
                break
        text = head + text[end:]
    return text


def _json_without(text: str) -> str:
    for path in (("mcpServers",), ("servers",)):
        text = _without_member(text, path)
    hooks = found(read(text), ("hooks",))
    for event in dict.fromkeys(hooks.names) if hooks is not None and hooks.kind == "object" else ():
        text = _without_items(text, ("hooks", event))
    return text


def _without_member(text: str, path: tuple[str, ...]) -> str:
    servers = found(read(text), path)
    if servers is None or servers.kind != "object" or "germane" not in servers.names:
        return text
    number = len(servers.names) - 1 - servers.names[::-1].index("germane")
    if not is_own(Entry(path=path, value=None), servers.parts[number].data()):
        return text
    return _without_empty(without_part(text, servers, number), path)


def _without_items(text: str, path: tuple[str, ...]) -> str:
    entry = Entry(path=path, value=None, each=True)
    while True:
        node = found(read(text), path)
        own = next((number for number, value in entries(node) if is_own(entry, value)), None)
        if node is None or own is None:
            return text
        text = _without_empty(without_part(text, node, own), path)


def _without_empty(text: str, path: tuple[str, ...]) -> str:
    """Takes out what was made to hold the entry and holds nothing any more."""
    for length in range(len(path), 0, -1):
        node, outer = found(read(text), path[:length]), found(read(text), path[: length - 1])
        if node is None or outer is None or node.parts or text[node.start + 1 : node.end - 1].strip():
            break
        text = without_part(text, outer, len(outer.names) - 1 - outer.names[::-1].index(path[length - 1]))
    return text


def _data(file: SettingsFile, text: str) -> Any:
    try:
        return tomllib.loads(text) if file.is_toml else read(text).data()
    except (InvalidInput, tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(file, error) from None


def _check_free(file: SettingsFile, entry: Entry, data: Any) -> None:
    """Raises `InvalidInput` where something of another's has the entry's place."""
    for number, name in enumerate(entry.path):
        if not isinstance(data, Mapping):
            raise InvalidInput(f"{file.path}: {'.'.join(entry.path[:number])} must be an object: it was left as it is")
        if name not in data:
            return
        data = data[name]
    if entry.each and not isinstance(data, list):
        raise InvalidInput(f"{file.path}: {'.'.join(entry.path)} must be a list: it was left as it is")
    if not entry.each:
        raise InvalidInput(
            f"{file.path} has an entry {'.'.join(entry.path)} of your own: take it out, or give it another name, and run the"
            " command again"
        )


def _add(data: Any, entry: Entry) -> None:
    for name in entry.path[:-1]:
        data = data.setdefault(name, {})
    if entry.each:
        data.setdefault(entry.path[-1], []).append(entry.value)
    else:
        data[entry.path[-1]] = entry.value
