"""Descriptors: how many files and sockets a process of the service may have open at once."""

from __future__ import annotations

import resource

__all__ = ["enough"]

_ENOUGH = 32_768


def enough() -> int:
    """How many there may be from now on: what the process was begun with, or more where the system lets it ask for more. Every
    connection is one, and many systems begin a process with 1,024."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if most == resource.RLIM_INFINITY else min(_ENOUGH, most)
    if now == resource.RLIM_INFINITY or now >= wanted:
        return _ENOUGH if now == resource.RLIM_INFINITY else now
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    except (ValueError, OSError):  # some systems allow less than they say
        return now
    return wanted
