"""Process: runs a peer's adapter in its environment and sends it one request at a time."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from types import MappingProxyType, TracebackType
from typing import Any, Self

from bench.peers.environment import Environment
from bench.peers.peer import Row

__all__ = ["PeerFailed", "Process"]

_ROOT = Path(__file__).parents[2]
_QUIET: Mapping[str, str] = MappingProxyType(
    {
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
        "HF_HUB_OFFLINE": "1",
        "MEM0_TELEMETRY": "False",
        "POSTHOG_DISABLED": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "TRANSFORMERS_OFFLINE": "1",
    }
)
"""Environment variables that switch off telemetry and downloads."""


class PeerFailed(Exception):
    """A peer raised an exception or took too long."""


class Process:
    """Runs one adapter inside a `with` block. Its output goes to the file `log`."""

    def __init__(self, row: Row, environment: Environment, *, model: Path, tokenizer: Path, home: Path, log: Path) -> None:
        self.row = row
        command = [str(environment.python), "-m", f"bench.peers.adapters.{row.adapter}", *row.options]
        self._command = [*command, "--model", str(model), "--tokenizer", str(tokenizer)]
        self._home, self._log = home, log

    def __enter__(self) -> Self:
        self._home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        self._errors = self._log.open("a", encoding="utf-8")
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            cwd=_ROOT,
            env={**kept, **_QUIET, "HOME": str(self._home)},
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def ask(self, op: str, *, within: float = 600, **fields: Any) -> dict[str, Any]:
        """Returns the adapter's answer. Raises `PeerFailed` on an error, or after `within` seconds, and kills the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        late = Timer(within, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            in_time = late.is_alive()
            late.cancel()
        if not line:
            why = "it ended" if in_time else f"not done within {within:,.0f} s"
            raise PeerFailed(f"{op}: {why}: {self._last_words()}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise PeerFailed(f"{op}: {reply['error']}")
        return reply

    def _last_words(self) -> str:
        said = self._log.read_text("utf-8").strip().splitlines()
        return said[-1][:300] if said else "it said nothing"
