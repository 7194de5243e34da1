"""The local service as a process: three clients with their own files, hooks and transcripts; restarts, versions, the end."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from germane.service.clients.entries import AGENTS, Where
from germane.service.clients.install import plan_install
from germane.service.local import caller
from germane.service.local.caller import ServiceState, answer_to, call, hold_open, is_running, read_state
from germane.service.local.main import replace_older, started, stop
from support.coding_agents import ClaudeCode, Codex, Gemini
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HOOK-1", "HOOK-2")
CLIENTS: dict[str, type[ClaudeCode]] = {"claude-code": ClaudeCode, "codex": Codex, "gemini": Gemini}


class Machine:
    """One person's machine: a home, a folder for the service, projects."""

    def __init__(self, place: Path) -> None:
        self.home, self.folder, self.place = place / "home", place / "data", place
        self.home.mkdir(mode=0o700)
        self.variables = {"HOME": str(self.home), "GERMANE_HOME": str(self.folder), "PYTHONPATH": str(ROOT / "src")}

    def install(self, name: str, **options: Any) -> None:
        where = Where(home=self.home, project=self.place, environment={})
        for change in plan_install(AGENTS[name], where, started(str(self.folder)), **options).changes:
            change.make()

    def client(self, name: str, session: str, project: str = "shop") -> ClaudeCode:
        (self.place / project / ".git").mkdir(parents=True, exist_ok=True)
        return CLIENTS[name](self.home, self.place / project, session, self.variables)

    def end(self) -> None:
        """Ends the service, also one that has only begun to start."""
        if is_running(folder := str(self.folder)) and not (started(folder) and stop(folder)):
            os.kill(read_state(folder).pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []
    with pytest.MonkeyPatch.context() as patch:

        def new(**variables: str) -> Machine:
            machine = Machine(tmp_path_factory.mktemp("machine"))
            for name, value in {**machine.variables, **variables}.items():
                patch.setenv(name, value)
            for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
                patch.delenv(name, raising=False)
            made.append(machine)
            return machine

        yield new
        for machine in made:
            machine.end()


@pytest.fixture(scope="module")
def machine(machines: Callable[..., Machine]) -> Machine:
    made = machines()
    for name in CLIENTS:
        made.install(name)
    return made


def recorded(machine: Machine, client: ClaudeCode, prompt: str, wanted: str) -> bool:
    """Whether another session is told what was recorded; asked until it is, as recording goes on beside."""
    name = next(name for name, kind in CLIENTS.items() if type(client) is kind)
    for number in range(200):
        asking = machine.client(name, f"{client.session}-asks-{number}", client.project.name)
        told = asking.send("BeforeAgent" if name == "gemini" else "UserPromptSubmit", prompt=prompt)
        assert not told.stopped
        if wanted in told.text:
            return True
    return False


@pytest.mark.parametrize("name", list(CLIENTS))
def test_a_turn_of_one_session_is_known_in_the_next(machine: Machine, name: str) -> None:
    """Through the client's own files, its hooks and its transcript, as its documents say; nothing is ever stopped."""
    client = machine.client(name, f"{name}-1", f"project-{name}")
    told = [
        client.send("SessionStart", source="startup"),
        client.asks("The staging database is called zeppelin and lives on host db7."),
        client.says("Noted: zeppelin."),
    ]
    assert not any(one.stopped or one.failed for one in told)
    assert recorded(machine, client, "What is the staging database called?", "zeppelin")


def test_clients_share_what_they_know_of_a_project(machine: Machine) -> None:
    """What was said to one is known to the others."""
    client = machine.client("gemini", "shared-1", "shared")
    client.asks("The staging database is called zeppelin and lives on host db7.")
    client.says("Noted.")
    assert recorded(machine, client, "What is the staging database called?", "zeppelin")
    other = machine.client("claude-code", "shared-2", "shared")
    assert "zeppelin" in other.asks("What is the staging database called?").text


def test_only_this_person_can_read_the_folder(machine: Machine) -> None:
    """The database, the state and the log."""
    assert machine.folder.stat().st_mode & 0o777 == 0o700
    for path in machine.folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_caller_without_the_key_gets_nothing(machine: Machine) -> None:
    """Neither from the hooks nor from the operations or MCP on the same port."""
    state = read_state(str(machine.folder))
    other = ServiceState({"port": str(state.port), "key": "gk_aaaa_bbbb"})
    for path in ("/hooks/codex", "/v1/agents/default/search", "/mcp/default", "/hooks/stop"):
        assert call(other, path, b"{}", 5.0)[0] == 401
    assert is_running(str(machine.folder))


def test_many_starts_at_once_make_one_service(machines: Callable[..., Machine]) -> None:
    """Whoever starts it; it is the one that callers find."""
    machine = machines()
    folder = str(machine.folder)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: answer_to("codex", b"{}", folder), range(20)))
    for _ in range(3):
        caller._spawn(folder, 0)
    state = started(folder)
    assert is_running(folder)
    assert call(state, "/hooks/alive", b"{}", 5.0)[0] == 200
    assert running(folder) == [state.pid]


def running(folder: str) -> list[int]:
    """The processes of the folder's service, those that are only starting not counted."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            own = f"GERMANE_HOME={folder}".encode() in (place / "environ").read_bytes().split(b"\0")
            if own and b"germane.service.local.main" in (place / "cmdline").read_bytes() and holds_port(place):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def holds_port(place: Path) -> bool:
    return any(str(link.readlink()).startswith("socket:") for link in (place / "fd").iterdir())


def test_an_older_service_is_replaced_and_a_newer_one_is_kept(machines: Callable[..., Machine]) -> None:
    """The one that comes next has the same port and the same key, so that settings stay right."""
    machine = machines()
    folder = str(machine.folder)
    first = started(folder)
    assert not replace_older(folder, first.version)
    assert not replace_older(folder, "0.0.1")
    assert replace_older(folder, "99.0.0")
    assert not is_running(folder)
    second = started(folder)
    assert (second.port, second.key) == (first.port, first.key)
    assert second.pid != first.pid


def test_a_taken_port_gives_way_to_another(machines: Callable[..., Machine]) -> None:
    """Callers read it from the state."""
    machine = machines()
    folder = str(machine.folder)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        machine.folder.mkdir(mode=0o700)
        ServiceState({"port": str(number)}).write(folder)
        state = started(folder)
        assert state.port != number
        assert call(state, "/hooks/alive", b"{}", 5.0)[0] == 200


def test_a_service_that_hangs_is_replaced_beside(machines: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    """The prompt isn't held; a later one is answered by the successor."""
    machine = machines()
    folder = str(machine.folder)
    first = started(folder)
    monkeypatch.setattr(caller.call, "__defaults__", (0.1,))
    os.kill(first.pid, signal.SIGSTOP)
    assert answer_to("codex", b"{}", folder) == b""
    assert has_ended(first.pid, 60.0)
    second = started(folder)
    assert second.pid != first.pid
    assert call(second, "/hooks/alive", b"{}", 5.0)[0] == 200


def has_ended(process: int, seconds: float) -> bool:
    """Whether the process ends within the time."""
    descriptor = os.pidfd_open(process)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def test_it_ends_when_nobody_has_called_for_a_while_and_no_client_is_open(machines: Callable[..., Machine]) -> None:
    """A client that is open holds it, though it sends nothing."""
    machine = machines(GERMANE_IDLE_SECONDS="1")
    folder = str(machine.folder)
    machine.folder.mkdir(mode=0o700)
    held = hold_open(folder)
    pid = started(folder).pid
    assert not has_ended(pid, 2.0)
    os.close(held)
    assert has_ended(pid, 60.0)
    assert not is_running(folder)


async def test_the_relay_gives_each_project_its_memory(machine: Machine) -> None:
    """To clients of both eras of MCP, over their stdin and stdout."""
    folder = machine.client("claude-code", "x", "relayed").project
    other = machine.client("claude-code", "x", "relayed-not").project
    for era in ("legacy", "2026-07-28"):
        async with relayed(folder, machine, era) as client:
            assert len((await client.list_tools()).tools) == 5
            await client.call_tool("remember", {"text": "The café at Straße 9 is called Zeppelin"})
            found = await client.call_tool("recall", {"query": "What is the café called?"})
            assert "Straße 9" in str(found.content)
        async with relayed(other, machine, era) as client:
            found = await client.call_tool("recall", {"query": "What is the café called?"})
            assert "Zeppelin" not in str(found.content)


@asynccontextmanager
async def relayed(folder: Path, machine: Machine, era: str) -> AsyncIterator[Client]:
    program = ["-P", "-m", "germane.service.local.relay", str(folder)]
    server = StdioServerParameters(command=sys.executable, args=program, env={**os.environ, **machine.variables})
    async with Client(stdio_client(server), mode=era) as client:
        yield client


def test_the_relay_answers_each_request_and_outlives_the_service(machine: Machine) -> None:
    """What is no JSON, no request, or comes while the service is away; a notification has no answer."""
    lines = [
        b"{",
        b"[1]",
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 5, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": "a\\u00e9", "method": "ping"}',
    ]
    assert stop(str(machine.folder), 20.0)
    program = [sys.executable, "-P", "-m", "germane.service.local.relay", str(machine.place)]
    environment = {**os.environ, **machine.variables}
    ran = subprocess.run(program, input=b"\n".join(lines) + b"\n", capture_output=True, env=environment, timeout=60, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert sorted(str(one.get("id")) for one in answers) == ["5", "None", "None", "aé"]
    assert is_running(str(machine.folder))
    assert ran.stderr == b""
