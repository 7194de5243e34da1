"""Multiprocess: one set of metrics for several worker processes, through prometheus_client's shared folder.

Each process writes its numbers into files of its own in the folder, and the process that serves `/metrics` adds them up.
prometheus_client chooses this mode when it is first imported, by an environment variable.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["join_folder", "mark_process_dead", "metrics_folder"]

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """Creates the folder for the workers of one service and removes it at the end. For the parent process."""
    with TemporaryDirectory(prefix="germane-metrics-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def join_folder(folder: Path) -> None:
    """Makes this process's metrics part of `folder`. Raises `RuntimeError` if prometheus_client is already imported, since it
    would then count this process alone."""
    if "prometheus_client" in sys.modules and os.environ.get(_VARIABLE) != str(folder):
        raise RuntimeError("prometheus_client is imported already: join the folder first")
    os.environ[_VARIABLE] = str(folder)


def mark_process_dead(folder: Path, process: int) -> None:
    """Removes the gauges of an ended process (calls in flight, lag, breakers). Its counters stay in the sums."""
    for file in folder.glob(f"gauge_live*_{process}.db"):
        file.unlink(missing_ok=True)
