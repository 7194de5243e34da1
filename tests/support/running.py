"""Running: starts `germane serve` in a process of its own, as its users do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Service", "serving"]


@dataclass(frozen=True)
class Service:
    process: subprocess.Popen[str]
    grpc: str
    http: str
    log: Path

    @property
    def children(self) -> list[int]:
        """Process ids of the workers; empty for a service with one process."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        found = [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
        return [pid for pid in found if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def events(self) -> list[dict[str, Any]]:
        """The events logged so far."""
        lines = self.log.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def stop(self) -> int:
        """Sends SIGTERM, waits for the end, and returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


@contextmanager
def serving(db: Path, *options: str, log: Path | None = None, **variables: str) -> Iterator[Service]:
    """Starts `germane serve` over `db`, and yields it when it is ready."""
    log = log or db.with_suffix(".log")
    command = [sys.executable, "-m", "germane.cli", "--db", str(db), "--json", "serve"]
    if not {"--grpc", "--http"} & set(options):
        command += ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, stderr=errors, text=True, env={**os.environ, **variables}
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, log.read_text("utf-8")
        where = json.loads(line)
        yield Service(process, where["grpc"], where["http"], log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
