"""The blocking client: the same promise for threads."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import Any

import grpc
import pytest

import germane.grpc.client
import germane.types.trace
from germane.api.remote.answer import ClientMetadata
from germane.grpc.blocking import Client
from germane.types.reports import SourceReport
from support.loopback import ADDED, enriched, hanging, refusing, serving, unused_port

ASKED: list[Any] = [{"role": "user", "content": "Where did we go?"}, {"role": "user", "content": "When?", "id": "m2"}]
LONG = 30.0


@pytest.mark.requirement("RPC-3")
def test_an_answer_has_what_was_added_and_the_callers_own_objects() -> None:
    """As with the awaited one."""
    with serving(enriched) as address, Client(address, limit=LONG) as client:
        assert client.warm(LONG)
        answer = client.assemble(ASKED, model="gpt-4o")
    assert answer.messages[0] == ADDED
    assert [*map(id, answer.messages[1:])] == [*map(id, ASKED)]


@pytest.mark.requirement("RPC-3")
@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_status_gives_the_messages_back_with_its_name(code: grpc.StatusCode) -> None:
    """`grpc_error:<CODE>`, and nothing is raised."""
    with serving(refusing(code)) as address, Client(address, limit=LONG) as client:
        answer = client.assemble(ASKED, model="gpt-4o")
    assert answer.messages == ASKED
    assert answer.metadata.fallback_reason == f"grpc_error:{code.name}"


@pytest.mark.requirement("RPC-3")
def test_a_server_that_hangs_is_not_waited_for() -> None:
    """The client's limit ends the call, because the server never answers."""
    with hanging() as (address, asked), Client(address, breaker=1) as client:
        assert client.warm(LONG)
        answers = [client.assemble(ASKED, model="gpt-4o") for _ in range(2)]
        assert asked.is_set()
    reasons = [answer.metadata.fallback_reason for answer in answers]
    assert reasons == ["grpc_error:DEADLINE_EXCEEDED", "client_breaker_open"]
    assert all(answer.messages == ASKED for answer in answers)


@pytest.mark.requirement("RPC-3")
def test_nothing_there_and_bad_arguments_give_the_messages_back() -> None:
    """And so does a client that is closed."""
    with Client(f"127.0.0.1:{unused_port()}", limit=LONG) as client:
        reasons = [
            client.assemble(ASKED, model="gpt-4o").metadata.fallback_reason,
            client.assemble(ASKED, model=None).metadata.fallback_reason,  # type: ignore[arg-type]
        ]
    reasons.append(client.assemble(ASKED, model="gpt-4o").metadata.fallback_reason)
    assert reasons == ["grpc_error:UNAVAILABLE", "client_error:InvalidInput", "client_error:closed"]


@pytest.mark.requirement("RPC-3")
def test_any_number_of_threads_share_a_client() -> None:
    """Each gets the answer to what it asked."""
    with serving(enriched) as address, Client(address, limit=LONG) as client, ThreadPoolExecutor(16) as pool:

        def ask(number: int) -> bool:
            own = [{"role": "user", "content": str(number)}]
            return bool(client.assemble(own, model="gpt-4o").messages == [ADDED, *own])

        assert all(pool.map(ask, range(400)))


def test_closing_ends_the_calls_of_other_threads_with_their_messages() -> None:
    """A call that waits returns the caller's messages when another thread closes the client."""
    with hanging() as (address, asked), ThreadPoolExecutor(1) as pool:
        client = Client(address, limit=LONG)
        waiting = pool.submit(client.assemble, ASKED, model="gpt-4o")
        assert asked.wait(LONG)
        client.close()
        client.close()
        answer = waiting.result(LONG)
    assert answer.messages == ASKED
    assert answer.metadata.fallback_reason == "grpc_error:CANCELLED"


FORKED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from germane.grpc.blocking import Client
from support.loopback import enriched, serving
used = Client(sys.argv[2], limit=30.0)
asked = [{"role": "user", "content": "hi"}]
print(used.assemble(asked, model="m").metadata.fallback_reason or "fine", flush=True)
if (child := os.fork()) == 0:
    answer = used.assemble(asked, model="m")
    used.close()
    print(answer.metadata.fallback_reason, answer.messages == asked, flush=True)
    os._exit(0)
os.waitpid(child, 0)
print(used.assemble(asked, model="m").metadata.fallback_reason or "fine", flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_the_child_gets_its_messages_back_and_the_parent_goes_on() -> None:
    """gRPC doesn't live through a fork; a client that knows doesn't hang."""
    with serving(enriched) as address:
        command = [sys.executable, "-W", "ignore", "-c", FORKED, str(Path(__file__).parents[1]), address]
        shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout.splitlines() == ["fine", "client_error:forked True", "fine"]


def test_both_clients_take_the_same() -> None:
    """The asyncio and the blocking client have the same methods and arguments."""
    awaited = germane.grpc.client.Client

    def face(client: type) -> dict[str, list[str]]:
        verbs = {name: value for name, value in vars(client).items() if callable(value) and not name.startswith("_")}
        return {name: list(inspect.signature(value).parameters) for name, value in verbs.items()}

    assert face(Client) == face(awaited)
    assert inspect.signature(Client.__init__) == inspect.signature(awaited.__init__)


def test_the_clients_metadata_are_the_librarys() -> None:
    """The same class with the request's id, so that code for one reads the other."""
    assert issubclass(ClientMetadata, germane.Metadata)
    assert {each.name for each in fields(ClientMetadata)} - {each.name for each in fields(germane.Metadata)} == {"request_id"}
    assert germane.types.trace.SourceReport is SourceReport


@pytest.mark.parametrize("start", ["germane.grpc.client", "germane.grpc.blocking"])
def test_the_client_loads_neither_the_engine_nor_a_store(start: str) -> None:
    """A gateway pays for gRPC alone."""
    heavy = {"numpy", "apsw", "tokenizers", "wordllama", "starlette", "structlog", "germane.engine.engine"}
    front = "{name for name in sys.modules if name.startswith('germane.api.') and not name.startswith('germane.api.remote')}"
    asked = f"import {start}, sys; print(*sorted({heavy} & set(sys.modules) | {front}))"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []


@pytest.mark.parametrize("start", ["germane.grpc.client", "germane.grpc.blocking"])
@pytest.mark.parametrize("missing", ["grpc", "google.protobuf"])
def test_without_its_packages_the_client_names_the_extra(start: str, missing: str) -> None:
    """Not a bare ImportError from somewhere within."""
    asked = f"""
import sys
sys.modules[{missing!r}] = None
try:
    import {start}
except ImportError as error:
    print(type(error).__name__, error)
"""
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("MissingExtra")
    assert "germane[client]" in shown.stdout
