"""Entries: what germane writes into the settings of Claude Code, Codex, Cursor, VS Code and Gemini CLI.

It follows the clients' documents as of November 2026: where the files are, how a hook and an MCP server are written, and which
events a hook may have, of which kind. Paths of programs are absolute. A hook's command ends with 0 whatever happens: 2 would
stop a prompt.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from germane.service.local import caller, relay
from germane.service.local.caller import PROTOCOL, ServiceState

HookKind = Literal["http", "command"]
SERVER = "germane"
_WORKSPACE = "${workspaceFolder}"
"""What Cursor and VS Code put the open folder for."""
_SECONDS = 2
"""How long a client waits for a hook, which ends after a second by itself."""
_HOOK_MARK, _URL_MARK, _RELAY = "germane/service/local/caller.py", "/hooks/", relay.__name__
_EVENTS = ("UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
_IN_BACKGROUND = frozenset({"PostToolUse", "Stop", "SubagentStop"})
_GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "PreCompress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where things are: the person's home, the project that the command runs in, the environment, and Python."""

    home: Path
    project: Path
    environment: Mapping[str, str]
    python: str = sys.executable

    def folder(self, variable: str, name: str) -> Path:
        """The folder of a client: its variable's, else in the home."""
        own = self.environment.get(variable, "")
        return Path(own) if own.startswith("/") else self.home / name


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A part of a settings file: a member of an object, or, with `each`, an item of an array. `path` leads to it."""

    path: tuple[str, ...]
    value: Any
    each: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A file, and what germane has in it. `is_toml` is a TOML file, any other is JSON with comments."""

    path: Path
    entries: tuple[Entry, ...]
    is_toml: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingAgent:
    """A client by the name that commands use. `files` returns its settings files; `hooked` is whether it has hooks that
    germane uses; `after` says what the person does next."""

    name: str
    title: str
    files: Callable[[Where, ServiceState, HookKind], tuple[SettingsFile, ...]]
    hooked: bool = True
    after: str = "start a new session"


def _server(where: Where, *arguments: str) -> dict[str, Any]:
    """The MCP server as most clients write one: the relay, which takes no module from the folder that it is started in."""
    return {"command": where.python, "args": ["-P", "-m", _RELAY, *arguments]}


def hook_command(where: Where, client: str) -> str:
    """Returns the shell command of a hook."""
    program = [where.python, "-I", "-S", str(Path(caller.__file__).resolve()), client]
    return f"{' '.join(map(shlex.quote, program))} || exit 0"


def _claude_code(where: Where, state: ServiceState, kind: HookKind) -> tuple[SettingsFile, ...]:
    folder = where.folder("CLAUDE_CONFIG_DIR", ".claude")
    servers = (folder if where.environment.get("CLAUDE_CONFIG_DIR", "").startswith("/") else where.home) / ".claude.json"
    command = {"type": "command", "command": hook_command(where, "claude-code"), "timeout": _SECONDS}
    called = {
        "type": "http",
        "url": f"http://127.0.0.1:{state.port}{_URL_MARK}claude-code?protocol={PROTOCOL}",
        "headers": {"Authorization": f"Bearer {state.key}"},
        "timeout": 1,
    }
    hooks = [Entry(path=("hooks", "SessionStart"), value={"hooks": [command]}, each=True)]
    for event in _EVENTS:
        hook = called if kind == "http" else {**command, "async": True} if event in _IN_BACKGROUND else command
        hooks.append(Entry(path=("hooks", event), value={"hooks": [hook]}, each=True))
    server = Entry(path=("mcpServers", SERVER), value={"type": "stdio", **_server(where)})
    return SettingsFile(path=folder / "settings.json", entries=tuple(hooks)), SettingsFile(path=servers, entries=(server,))


def _codex(where: Where, state: ServiceState, kind: HookKind) -> tuple[SettingsFile, ...]:
    """Codex takes hooks from `hooks.json` or from its settings, and warns where a folder has them in both."""
    folder = where.folder("CODEX_HOME", ".codex")
    hook = {"type": "command", "command": hook_command(where, "codex"), "timeout": _SECONDS}
    hooks = tuple(
        Entry(
            path=("hooks", event),
            value={"hooks": [{**hook, "async": True} if event in _IN_BACKGROUND else hook]},
            each=True,
        )
        for event in ("SessionStart", *_EVENTS)
    )
    server = Entry(path=("mcp_servers", SERVER), value=_server(where))
    own, apart = folder / "config.toml", folder / "hooks.json"
    if apart.exists():
        return SettingsFile(path=own, entries=(server,), is_toml=True), SettingsFile(path=apart, entries=hooks)
    return (SettingsFile(path=own, entries=(server, *hooks), is_toml=True),)


def _cursor(where: Where, state: ServiceState, kind: HookKind) -> tuple[SettingsFile, ...]:
    server = Entry(path=("mcpServers", SERVER), value=_server(where, _WORKSPACE))
    return (SettingsFile(path=where.home / ".cursor" / "mcp.json", entries=(server,)),)


def _vscode(where: Where, state: ServiceState, kind: HookKind) -> tuple[SettingsFile, ...]:
    server = Entry(path=("servers", SERVER), value={"type": "stdio", **_server(where, _WORKSPACE)})
    return (SettingsFile(path=where.project / ".vscode" / "mcp.json", entries=(server,)),)


def _gemini(where: Where, state: ServiceState, kind: HookKind) -> tuple[SettingsFile, ...]:
    hook = {"type": "command", "name": SERVER, "command": hook_command(where, "gemini"), "timeout": 1000 * _SECONDS}
    hooks = (Entry(path=("hooks", event), value={"hooks": [hook]}, each=True) for event in _GEMINI_EVENTS)
    server = Entry(path=("mcpServers", SERVER), value=_server(where))
    return (SettingsFile(path=where.home / ".gemini" / "settings.json", entries=(server, *hooks)),)


AGENTS: Mapping[str, CodingAgent] = {
    one.name: one
    for one in (
        CodingAgent(name="claude-code", title="Claude Code", files=_claude_code),
        CodingAgent(
            name="codex", title="Codex", files=_codex, after="start a new session, and trust the hooks there: type /hooks"
        ),
        CodingAgent(name="cursor", title="Cursor", files=_cursor, hooked=False, after="switch the server on in its settings"),
        CodingAgent(name="vscode", title="VS Code", files=_vscode, hooked=False, after="start the server in .vscode/mcp.json"),
        CodingAgent(name="gemini", title="Gemini CLI", files=_gemini),
    )
}
"""The clients by their names."""


def is_own(entry: Entry, value: Any) -> bool:
    """Returns whether what stands at the entry's place was written by germane, of any version: a hook that calls the service
    or the command, a server that is the relay."""
    if entry.each:
        return any(map(_is_own_hook, _hooks_in(value)))
    arguments = value.get("args") if isinstance(value, Mapping) else None
    return isinstance(arguments, Sequence) and _RELAY in arguments


def _hooks_in(group: Any) -> Iterator[Mapping[str, Any]]:
    hooks = group.get("hooks") if isinstance(group, Mapping) else None
    yield from (one for one in hooks or () if isinstance(one, Mapping)) if isinstance(hooks, list) else ()


def _is_own_hook(hook: Mapping[str, Any]) -> bool:
    command, url = hook.get("command"), hook.get("url")
    if isinstance(command, str) and _HOOK_MARK in command.replace("\\", "/"):
        return True
    return isinstance(url, str) and url.startswith("http://127.0.0.1:") and f"{_URL_MARK}claude-code" in url


# The same entries in TOML, as one block between two lines that say whose it is.


BEGIN = "# germane: begin (germane uninstall takes this block out)"
END = "# germane: end"


def toml_block(entries: Sequence[Entry]) -> str:
    """Returns the entries as tables: a member is a table, an item one of an array of tables."""
    lines = [BEGIN]
    for entry in entries:
        name = ".".join(entry.path)
        if not entry.each:
            lines += [f"[{name}]", *_fields(entry.value), ""]
            continue
        lines.append(f"[[{name}]]")
        for hook in entry.value["hooks"]:
            lines += [f"[[{name}.hooks]]", *_fields(hook), ""]
    return "\n".join([*lines[:-1], END, ""])


def _fields(table: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in table.items()]
