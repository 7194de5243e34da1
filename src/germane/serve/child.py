"""Child: where a worker process begins. Imports nothing that counts before its metrics know where to meet the others'."""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection
from pathlib import Path

from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings

__all__ = ["begin"]


def begin(index: int, told: Connection, serving: ServiceSettings, settings: Settings, shared: Path) -> None:
    """Serve until told to stop; what goes wrong ends the process with the command's exit code, and a line."""
    from germane.cli.exits import describe_exit as ended
    from germane.observe.shared import join

    try:
        join(shared)
        from germane.serve.worker import serve

        serve(serving, settings, told.send, shared)
    except BaseException as error:
        code, line = ended(error)
        if index == 0 or not isinstance(error, KeyboardInterrupt):
            print(f"germane: worker {index}: {line}", file=sys.stderr, flush=True)
        sys.exit(code)
