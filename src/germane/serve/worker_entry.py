"""Worker entry: the function that a worker process of `germane serve` starts with.

The module imports nothing that imports prometheus_client: the worker must join the metrics folder first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings

__all__ = ["run_worker"]


def run_worker(
    index: int,
    ready: Connection,
    service: ServiceSettings,
    settings: Settings,
    folder: Path,
    describe_exit: Callable[[BaseException], tuple[int, str]],
) -> None:
    """Serves until a signal stops the process; sends where the worker listens through `ready`. An error ends the process with
    the exit code and the line on standard error that `describe_exit` returns for it."""
    from germane.observe.multiprocess import join_folder

    try:
        join_folder(folder)
        from germane.grpc.handover.worker_loads import WorkerPlace
        from germane.serve.worker import serve

        serve(service, settings, ready.send, WorkerPlace(index=index, count=service.workers, folder=folder))
    except BaseException as error:
        code, line = describe_exit(error)
        if index == 0 or not isinstance(error, KeyboardInterrupt):
            print(f"germane: worker {index}: {line}", file=sys.stderr, flush=True)
        sys.exit(code)
