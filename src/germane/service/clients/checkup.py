"""Checkup: whether a coding agent's settings, its hooks and the local service work together, tried with a prompt."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from string import ascii_lowercase
from time import perf_counter
from typing import Any
from urllib.parse import quote, urlsplit

from germane.errors import InvalidInput
from germane.service.clients.entries import CodingAgent, Entry, HookKind, SettingsFile, Where
from germane.service.clients.install import plan_install
from germane.service.hooks.events import CLIENTS, HookClient
from germane.service.hooks.projects import PERSON, project_of
from germane.service.local.caller import LOG, Hung, ServiceState, Unreachable, call
from germane.service.local.main import started

Finding = tuple[str, str, bool]
"""The check, what was found, and whether it is fine; with what to do, where it isn't."""
_PROJECT = "doctor"
"""The folder that stands for a project."""
_SECONDS = 20.0


def check_up(client: CodingAgent, where: Where, folder: Path) -> Iterator[Finding]:
    """Yields the findings, one check after the other; later ones are left out where an earlier one makes them useless."""
    try:
        state = started(str(folder))
    except Unreachable as error:
        yield "service", str(error), False
        return
    yield from _settings(client, where, state)
    try:
        status, _ = call(state, "/hooks/alive", b"{}", _SECONDS)
    except (Unreachable, Hung) as error:
        yield "service", f"process {state.pid} doesn't answer ({error or 'in time'}): end it, and run this again", False
        return
    if status != 200:
        yield "service", f"the key is refused ({status}): run germane install {client.name} again", False
        return
    yield "service", f"version {state.version}, process {state.pid}, port {state.port}; its files are in {folder}", True
    place = folder / _PROJECT
    place.mkdir(exist_ok=True)
    if client.hooked:
        yield from _hooks(client, CLIENTS[client.name], where, state, place)
    yield _tools(client, where, state, place)


def _settings(client: CodingAgent, where: Where, state: ServiceState) -> Iterator[Finding]:
    kinds: tuple[HookKind, ...] = ("http", "command")
    try:
        plans = [plan_install(client, where, state, kind) for kind in kinds]
    except InvalidInput as error:
        yield "settings", str(error), False
        return
    missing = next((plan for plan in plans if all(one.is_none for one in plan.changes)), None) is None
    paths = " and ".join(str(one.path) for one in plans[0].changes)
    if missing:
        yield "settings", f"{paths}: not as this version writes them: run germane install {client.name}", False
    else:
        yield "settings", f"{paths}: as this version writes them", True


def _hooks(client: CodingAgent, known: HookClient, where: Where, state: ServiceState, place: Path) -> Iterator[Finding]:
    """Stores a statement, and asks for it with a prompt by the way that the hooks take."""
    word = "Mia" + "".join(secrets.choice(ascii_lowercase) for _ in range(6))
    names = {moment: name for name, moment in known.moments.items()}
    agent = quote(project_of(str(place)).agent, safe="")
    try:
        kept = _post(state, f"/v1/agents/{agent}/remember", text=f"The doctor's cat is called {word}")
    except (Unreachable, Hung, ValueError) as error:
        yield "prompt", f"nothing can be stored: {error}", False
        return
    try:
        for name, fields, wanted in (
            (names["start"], {"source": "startup"}, ""),
            (names["prompt"], {"prompt": "What is the doctor's cat called?"}, word),
        ):
            event = {"session_id": f"{name}-{word}", "cwd": str(place), "hook_event_name": name, **fields}
            began = perf_counter()
            answer = _sent(client, where, state, name, event)
            took = f"{1000 * (perf_counter() - began):.0f} ms"
            if isinstance(answer, str):
                yield name, answer, False
            elif wanted not in json.dumps(answer):
                yield name, f"was answered in {took} without what is known: {place.parent / LOG} may say why", False
            else:
                yield name, f"was answered in {took}" + (", with what is known" if wanted else ""), True
    finally:
        with suppress(Unreachable, Hung, ValueError):
            _post(state, f"/v1/agents/{agent}/forget", ids=[kept["id"]])


def _post(state: ServiceState, path: str, **arguments: Any) -> Mapping[str, Any]:
    status, body = call(state, f"{path}?user={PERSON}", json.dumps(arguments).encode(), _SECONDS)
    found = json.loads(body)
    if status != 200:
        raise ValueError(f"{status} {found.get('detail', '')}")
    return dict(found)


def _entries(client: CodingAgent, where: Where, state: ServiceState) -> Iterator[tuple[SettingsFile, Entry]]:
    """What the settings hold now, by what an installation wouldn't change."""
    kinds: tuple[HookKind, ...] = ("http", "command")
    for kind in kinds:
        with suppress(InvalidInput):
            if all(one.is_none for one in plan_install(client, where, state, kind).changes):
                yield from ((file, entry) for file in client.files(where, state, kind) for entry in file.entries)
                return
    yield from ((file, entry) for file in client.files(where, state, "command") for entry in file.entries)


def _sent(client: CodingAgent, where: Where, state: ServiceState, name: str, event: Mapping[str, Any]) -> Any:
    """Sends an event as the client would; returns the answer, or as text why there is none."""
    for _, entry in _entries(client, where, state):
        if not entry.each or entry.path[-1] != name:
            continue
        hook, data = entry.value["hooks"][0], json.dumps(event).encode()
        if hook["type"] == "http":
            url = urlsplit(hook["url"])
            called = ServiceState({"port": str(url.port), "key": hook["headers"]["Authorization"].removeprefix("Bearer ")})
            try:
                status, body = call(called, f"{url.path}?{url.query}", data)
            except (Unreachable, Hung) as error:
                return f"the service can't be called: {error or 'no answer in time'}"
            return json.loads(body) if status == 200 else f"the service answered {status}"
        ran = subprocess.run(hook["command"], shell=True, input=data, capture_output=True, timeout=_SECONDS, check=False)
        if ran.returncode:
            return f"the command ended with {ran.returncode}: {ran.stderr.decode(errors='replace')[-200:]}"
        return json.loads(ran.stdout) if ran.stdout.strip() else "the command printed nothing: the service didn't answer it"
    return "the settings have no such hook"


def _tools(client: CodingAgent, where: Where, state: ServiceState, place: Path) -> Finding:
    """Starts the MCP server as the client would, and lists its tools."""
    server = next(entry.value for _, entry in _entries(client, where, state) if not entry.each)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "doctor", "version": "1"}}
    messages = (
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    )
    program = [server["command"], *(str(place) if one.startswith("${") else one for one in server["args"])]
    began = perf_counter()
    try:
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        ran = subprocess.run(program, input=lines, capture_output=True, timeout=_SECONDS, cwd=place, check=False)
        answers = {one["id"]: one for one in map(json.loads, ran.stdout.splitlines())}
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return "tools", f"the MCP server can't be started: {error}", False
    tools = answers.get(2, {}).get("result", {}).get("tools", [])
    if not tools:
        return (
            "tools",
            f"the MCP server has none: {answers.get(2, {}).get('error', {}).get('message', 'no reason given')}",
            False,
        )
    return "tools", f"{', '.join(one['name'] for one in tools)}, in {1000 * (perf_counter() - began):.0f} ms", True
