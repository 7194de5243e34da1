"""TLS of the HTTP port: who gets a connection, and that a handshake takes neither room nor time from others."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, GermaneError, InvalidInput, StoreUnavailable
from germane.grpc.client import Client
from germane.service.http.connections import ConnectionLimits
from germane.service.http.health import app
from germane.service.http.server import HttpServer
from germane.service.http.tls import server_context
from germane.settings.serving import ServiceSettings
from support.certificates import made_certificates
from support.http_api import serving_api
from support.http_requests import LOOPBACK
from support.listening import opened
from support.running import serving as running

pytestmark = pytest.mark.requirement("HTTP-1", "RPC-5")

_HEALTH = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_certificates(tmp_path_factory.mktemp("tls"))


def context(folder: Path, key: str = "server", ca: str | None = None) -> ssl.SSLContext:
    pair: dict[str, Any] = {"tls_cert": folder / "server.pem", "tls_key": folder / f"{key}.key"}
    found = server_context(ServiceSettings(**pair, tls_client_ca=None if ca is None else folder / f"{ca}.pem"))
    assert found is not None
    return found


def trusting(folder: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=folder / "ca.pem")


@asynccontextmanager
async def serving(tls: ssl.SSLContext, **limits: float) -> AsyncIterator[HttpServer]:
    server = HttpServer(app(reasons=tuple), LOOPBACK, limits=ConnectionLimits(**limits), tls=tls)  # type: ignore[arg-type]
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def health(server: HttpServer, tls: ssl.SSLContext | None) -> bytes:
    """Everything that the server answers, nothing where it closes the connection."""
    reader, writer = await asyncio.open_connection(server.address.host, server.address.port, ssl=tls)
    try:
        writer.write(_HEALTH)
        return await reader.read()
    except OSError:
        return b""
    finally:
        writer.close()


async def test_the_port_speaks_tls_and_nothing_else(certificates: Path) -> None:
    """A client without TLS gets no answer, and one that doesn't know the CA gives none of its request away."""
    async with serving(context(certificates)) as server:
        assert b"200 OK" in await health(server, trusting(certificates))
        assert b"200" not in await health(server, None)
        with pytest.raises(ssl.SSLCertVerificationError):
            await health(server, ssl.create_default_context())
        while server.traffic.refused["http_request"] < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        assert server.traffic.used == {"http": 0}


async def test_the_client_brings_its_own_certificates(tmp_path: Path, certificates: Path) -> None:
    """The library over HTTPS: with the CA, by path, text or bytes; with the system's certificates alone it gets nothing."""
    async with opened(tmp_path) as germane, serving_api(germane, tls=context(certificates)) as api:
        url, ca = f"https://{api.address}", certificates / "ca.pem"
        for roots in (ca, str(ca), ca.read_bytes()):
            async with Germane.connect(url, roots=roots, org="acme") as remote:
                assert (await remote.agent("support").remember("The gate is red")).text == "The gate is red"
        async with Germane.connect(url) as remote:
            with pytest.raises(StoreUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
                await remote.agent("support").stats()


@pytest.mark.parametrize(("name", "let_in"), [("caller", True), ("stranger", False), (None, False)])
async def test_with_an_authority_callers_need_a_certificate_by_it(
    tmp_path: Path, certificates: Path, name: str | None, let_in: bool
) -> None:
    """Without one, or with a stranger's, there is no connection: health isn't answered either."""
    own = {} if name is None else {"certificate": certificates / f"{name}.pem", "certificate_key": certificates / f"{name}.key"}
    given: dict[str, Any] = {"roots": certificates / "ca.pem", "org": "acme", **own}
    async with (
        opened(tmp_path) as germane,
        serving_api(germane, tls=context(certificates, ca="ca")) as api,
        Germane.connect(f"https://{api.address}", **given) as remote,
    ):
        if let_in:
            await remote.agent("support").stats()
        for call in () if let_in else (remote.agent("support").stats, remote.ping):
            with pytest.raises(StoreUnavailable):
                await call()


async def test_files_that_can_not_be_used_are_refused_at_the_start(certificates: Path) -> None:
    """Without anything of what they hold."""
    with pytest.raises(InvalidInput, match="isn't the key of tls_cert"):
        context(certificates, key="caller")
    (certificates / "empty.pem").write_text("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n", "utf-8")
    with pytest.raises(InvalidInput, match="tls_client_ca holds no certificate"):
        context(certificates, ca="empty")
    assert server_context(ServiceSettings()) is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"certificate": b"x"}, "go together"),
        ({"roots": b"x"}, "roots hold no certificate"),
        ({"roots": b""}, "roots hold no certificate"),
        ({"roots": "nowhere.pem"}, "roots can't be read"),
        ({"certificate": b"x", "certificate_key": b"x"}, "certificate_key can't be used"),
    ],
)
def test_a_client_says_which_certificate_can_not_be_used(given: dict[str, Any], told: str) -> None:
    """When it is made."""
    with pytest.raises(InvalidInput, match=told):
        Germane.connect("https://localhost", **given)


def test_certificates_are_for_https(certificates: Path) -> None:
    """Over plain HTTP nobody would look at them."""
    with pytest.raises(InvalidInput, match="belong to https"):
        Germane.connect("http://localhost", roots=certificates / "ca.pem")


async def test_a_handshake_that_does_not_come_ends_the_connection(certificates: Path) -> None:
    """After the time of a request's head, and is counted as slow."""
    async with serving(context(certificates), head_seconds=0.05) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        assert await reader.read() == b""
        writer.close()
        assert server.traffic.refused["http_slow"] == 1


async def test_silent_callers_take_no_room_from_others(certificates: Path) -> None:
    """The connection whose handshake has waited longest goes first."""
    async with serving(context(certificates), max_connections=3, max_per_address=3, head_seconds=600) as server:
        silent = [await asyncio.open_connection(server.address.host, server.address.port) for _ in range(5)]
        assert b"200 OK" in await health(server, trusting(certificates))
        for reader, writer in silent[:3]:
            assert await reader.read() == b""
            writer.close()
        assert server.traffic.refused["http_full"] >= 3
        for _, writer in silent[3:]:
            writer.close()


async def test_stopping_does_not_wait_for_a_handshake(certificates: Path) -> None:
    """Its connection is closed."""
    async with serving(context(certificates), head_seconds=600) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        while not server.traffic.used["http"]:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await server.stop()
        assert await reader.read() == b""
        writer.close()
        assert server.traffic.used == {"http": 0}


async def test_a_request_right_behind_the_handshake_is_read(certificates: Path) -> None:
    """In the same bytes as the end of the handshake: nothing is lost, whatever comes first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting(certificates).wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    async with serving(context(certificates)) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        while True:
            try:
                client.do_handshake()
                break
            except ssl.SSLWantReadError:
                writer.write(outgoing.read())
                incoming.write(await reader.read(1 << 16))
        client.write(_HEALTH)
        writer.write(outgoing.read())
        said = b""
        while b"alive" not in said:
            try:
                said += client.read(1 << 16)
            except ssl.SSLWantReadError:
                incoming.write(await reader.read(1 << 16))
        writer.close()
    assert b"200 OK" in said


async def test_other_machines_call_the_service_over_tls_with_a_key(tmp_path: Path, certificates: Path) -> None:
    """In a process of its own, on all addresses, both ports by the same settings: no proxy in front is needed."""
    async with Germane.open(tmp_path / "germane.db") as germane:
        issued = await germane.keys.create(org="acme")
    pair = ("--tls-cert", str(certificates / "server.pem"), "--tls-key", str(certificates / "server.key"))
    with running(tmp_path / "germane.db", "--grpc", "0.0.0.0:0", "--http", "0.0.0.0:0", *pair) as service:
        url = f"https://127.0.0.1:{service.http.rpartition(':')[2]}"
        async with Germane.connect(url, key=issued.token, roots=certificates / "ca.pem") as remote:
            assert (await remote.agent("house").remember("The gate is red")).text == "The gate is red"
        async with Germane.connect(url, roots=certificates / "ca.pem") as nobody:
            await nobody.ping()
            with pytest.raises(GermaneError, match="UNAUTHENTICATED"):
                await nobody.agent("house").stats()
        target = f"localhost:{service.grpc.rpartition(':')[2]}"
        given: dict[str, Any] = {"org": "acme", "agent": "house", "key": issued.token, "limit": 10.0}
        async with Client(target, roots=certificates / "ca.pem", **given) as client:
            assert [one.candidate.text for one in await client.search("gate")] == ["The gate is red"]
        assert service.stop() == 0
