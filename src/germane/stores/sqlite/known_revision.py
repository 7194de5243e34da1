"""Known revision: the revision of the latest commit that this process knows of, without a look at the file."""

from __future__ import annotations

__all__ = ["KnownRevision"]


class KnownRevision:
    """`latest` is never ahead of the file: whatever is read from now on shows that commit. It may be behind where another
    process writes. Any thread may tell what it has seen."""

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0

    def saw(self, revision: int) -> None:
        """Takes note of a commit that is durable."""
        if revision > self.latest:  # of two threads the one behind may win, which is still not ahead
            self.latest = revision
