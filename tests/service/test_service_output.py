"""Log, spans and metrics of a served process at level debug contain no content, id or API key."""

from __future__ import annotations

import asyncio
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import pytest

from germane import Germane
from germane.errors import GermaneError
from germane.grpc.client import Client
from support.running import serving

pytestmark = pytest.mark.requirement("OPS-1", "RPC-4")

CANARY = "zq-flowerpot-77"
ASSEMBLE = "/germane.context.v1.ContextAssemblyService/AssembleContext"


def read(address: str) -> str:
    with urllib.request.urlopen(address) as answer:
        return str(answer.read().decode())


async def test_neither_content_nor_keys_nor_ids_are_in_any_output(tmp_path: Path) -> None:
    """Through good calls and bad: wrong keys, bytes that are no message, methods that aren't there, values that can't be."""
    db = tmp_path / "germane.db"
    async with Germane.open(db) as germane:
        issued = await germane.keys.create(org=CANARY)
    given = ("--require-keys", "--log-level", "debug")
    with serving(db, *given, log=tmp_path / "errors", GERMANE_SERVE_OTEL="console", GRPC_VERBOSITY="INFO") as service:
        wrong = issued.token[:-1] + ("a" if issued.token[-1] != "a" else "b")
        for key in (issued.token, wrong):
            async with Client(service.grpc, org=CANARY, agent=CANARY, user=CANARY, key=key) as asking:
                await asking.warm()
                for model in ("gpt-4o", CANARY):
                    await asking.assemble([{"role": "user", "content": f"Where is {CANARY}?"}], model=model, session=CANARY)
                for kind in ("note", CANARY):
                    try:
                        await asking.remember(CANARY, kind=kind, tags=[CANARY])
                    except GermaneError:
                        continue
        async with grpc.aio.insecure_channel(service.grpc) as channel:
            for method in (ASSEMBLE, f"/{CANARY}/{CANARY}"):
                for header in (f"Bearer {issued.token}", CANARY):
                    call: Any = channel.unary_unary(method)
                    with pytest.raises(grpc.aio.AioRpcError):
                        await call(CANARY.encode(), metadata=(("authorization", header), ("traceparent", CANARY)))
        metrics = await asyncio.to_thread(read, f"http://{service.http}/metrics")
        assert service.stop() == 0
        assert service.process.stdout
        written = {"log": service.log.read_text("utf-8"), "spans": service.process.stdout.read(), "metrics": metrics}
        codes = {one.get("code") for one in service.events() if one["event"] == "request"}
        refused = {one.get("reason") for one in service.events() if one["event"] == "refused"}
    assert {"OK", "INVALID_ARGUMENT"} <= codes
    assert {"unauthenticated", "unknown_method"} <= refused
    assert "AssembleContext" in written["spans"]
    for where, text in written.items():
        for secret in ("flowerpot", issued.token, issued.token[-52:], wrong[-52:]):
            assert secret not in text, where
