"""Serve: an adapter's loop. One JSON request a line on the input, one JSON reply a line on the output; what the peer prints
goes to the error stream. Time is taken here, around the peer's own call, so that the pipe is in no figure."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Store, read

__all__ = ["serve"]

_BATCH = 1_000
_RSS = re.compile(r"VmRSS:\s+(\d+) kB")


def serve(make: Callable[[Embedder], Store]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    options, _ = parser.parse_known_args()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _stay_here()
    embedder = Embedder(options.model, options.tokenizer)
    store = make(embedder)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = _answer(request, store, embedder)
        except Exception as error:  # whatever a peer raises is told, not swallowed
            reply = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


def _answer(request: dict[str, Any], store: Store, embedder: Embedder) -> dict[str, Any]:
    began = time.perf_counter()
    match request["op"]:
        case "open":
            vectors = request.get("vectors")
            embedder.use(Path(vectors) if vectors else None, summed=request.get("summed", False))
            folder = Path(request["folder"])
            folder.mkdir(parents=True, exist_ok=True)
            store.open(folder)
        case "load":
            memories = read(Path(request["memories"]))
            began = time.perf_counter()
            for start in range(0, len(memories), _BATCH):
                store.load(memories[start : start + _BATCH])
            if settle := getattr(store, "settle", None):
                settle()
        case "add":
            return _add(request, store)
        case "search":
            return _search(request, store)
        case "rss":
            return {"megabytes": _rss()}
        case "close":
            store.close()
            embedder.keep()
        case other:
            return getattr(store, other)(request)  # type: ignore[no-any-return]
    return {"seconds": time.perf_counter() - began}


def _add(request: dict[str, Any], store: Store) -> dict[str, Any]:
    """Calls of `each` memories, until they are all there or `seconds` are over; the first call is a rehearsal."""
    memories, each = read(Path(request["memories"])), int(request["each"])
    calls = [memories[start : start + each] for start in range(0, len(memories), each)]
    store.add(calls[0])
    began, added = time.perf_counter(), 0
    for call in calls[1:]:
        store.add(call)
        added += len(call)
        if time.perf_counter() - began > request["seconds"]:
            break
    return {"added": added, "seconds": time.perf_counter() - began}


def _search(request: dict[str, Any], store: Store) -> dict[str, Any]:
    """One query after another, until all are asked or `seconds` are over."""
    found, took, end = [], [], time.perf_counter() + request.get("seconds", 1e9)
    for query in request["queries"]:
        began = time.perf_counter()
        ids = store.search(query, request["limit"])
        took.append(time.perf_counter() - began)
        found.append(ids)
        if time.perf_counter() > end:
            break
    return {"found": found, "took": took}


def _rss() -> float:
    """Megabytes (2^20) in memory now; where the system doesn't tell, the most there ever were."""
    status = Path("/proc/self/status")
    if status.exists() and (found := _RSS.search(status.read_text())):
        return int(found[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def _stay_here() -> None:
    """No network: a peer that tries is refused at once instead of waiting for an answer."""

    def refuse(connection: socket.socket, address: object) -> NoReturn:
        raise ConnectionRefusedError(f"no network in a measurement: {address}")

    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign, assignment]
