"""File limit: raises the number of files and sockets that a process of the service may have open."""

from __future__ import annotations

import resource

__all__ = ["raise_file_limit"]

_WANTED = 32_768


def raise_file_limit() -> int:
    """Raises the soft limit of open files to 32,768, or to the hard limit where that is lower, and returns the limit that now
    holds (32,768 for "unlimited"). Never lowers it. Each connection takes one file, and many systems start a process with a
    soft limit of 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED if hard == resource.RLIM_INFINITY else min(_WANTED, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):  # some systems allow less than the hard limit that they report
        return soft
    return wanted
