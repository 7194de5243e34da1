"""Loopback: a small gRPC server of the contract on a real port, whose answers a test defines.

It runs in threads, so that awaiting and blocking clients can be tested, and a hanging call delays nothing else.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeAlias

import grpc

from germane.grpc.messages import context_pb2

__all__ = ["ADDED", "Answering", "answering_bytes", "enriched", "hanging", "refusing", "serving", "unused_port"]

Request: TypeAlias = context_pb2.AssembleContextRequest
Response: TypeAlias = context_pb2.AssembleContextResponse
Answering = Callable[[Request, Any], Response]

ADDED = {"role": "system", "content": "what the model needs to know"}


@contextmanager
def serving(answer: Answering, port: int = 0) -> Iterator[str]:
    """Serves `answer` and yields the address."""
    pool = ThreadPoolExecutor(max_workers=32)
    server = grpc.server(pool, options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 16 * 1024 * 1024)])
    method = grpc.unary_unary_rpc_method_handler(answer, Request.FromString, Response.SerializeToString)
    service = context_pb2.DESCRIPTOR.services_by_name["ContextAssemblyService"].full_name
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"AssembleContext": method}),))
    address = f"127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    server.start()
    try:
        yield address
    finally:
        server.stop(None).wait()
        pool.shutdown()


@contextmanager
def answering_bytes(said: bytes) -> Iterator[str]:
    """Yields the address of a gRPC server that answers every call with the bytes `said`."""

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda request, context: said)

    pool = ThreadPoolExecutor(max_workers=4)
    server = grpc.server(pool, handlers=[Handler()])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield address
    finally:
        server.stop(None).wait()
        pool.shutdown()


def enriched(request: Request, context: Any = None) -> Response:
    """An answer with one added system message in front of the caller's messages."""
    told = context_pb2.InjectionMetadata(memories_injected=1, memory_ids=["a"], request_id=request.request_id)
    return Response(messages=[context_pb2.Message(**ADDED), *request.messages], metadata=told)


def refusing(code: grpc.StatusCode) -> Answering:
    def answer(request: Request, context: Any) -> Response:
        context.abort(code, "why")
        raise AssertionError

    return answer


@contextmanager
def hanging(gone: threading.Event | None = None) -> Iterator[tuple[str, threading.Event]]:
    """Yields the address of a server that never answers, and an event that is set when a call arrives. `gone` is set when the
    caller cancels the call."""
    asked, ended = threading.Event(), threading.Event()

    def answer(request: Request, context: Any) -> Response:
        if gone is not None:
            context.add_callback(gone.set)
        asked.set()
        ended.wait()
        return enriched(request)

    with serving(answer) as address:
        try:
            yield address, asked
        finally:
            ended.set()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
