"""Machine: one line that describes the machine on which a figure was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version

import numpy as np
import psutil

__all__ = ["describe"]


def describe() -> str:
    memory = psutil.virtual_memory().total / 2**30
    load = os.getloadavg()[0]
    what = f"germane {version('germane')}, Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}"
    return f"{datetime.now(UTC):%Y-%m-%d} {what}, {os.cpu_count()} cores, {memory:.0f} GiB, load {load:.1f} at the beginning"
