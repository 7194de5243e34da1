"""Shared: metrics of several processes as one. Each writes its numbers into files of its own in one folder; whoever is asked
adds them up. It is prometheus_client's own way, which its variable switches on before that package is first imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["bury", "folder", "join"]

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def folder() -> Iterator[Path]:
    """An empty folder for the workers of one service, gone with it: the parent's to hold."""
    with TemporaryDirectory(prefix="germane-metrics-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def join(shared: Path) -> None:
    """Count this process's metrics with those of all others that joined the same folder. Once, before `metrics` is imported:
    raises `RuntimeError` when it is too late for that."""
    if "prometheus_client" in sys.modules and os.environ.get(_VARIABLE) != str(shared):
        raise RuntimeError("prometheus_client is imported already: join the folder first")
    os.environ[_VARIABLE] = str(shared)


def bury(shared: Path, process: int) -> None:
    """A process has ended: what it was doing (in flight, lag, breakers) counts no more; what it has counted stays."""
    for file in shared.glob(f"gauge_live*_{process}.db"):
        file.unlink(missing_ok=True)
