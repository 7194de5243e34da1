"""Exchange: the parts of a conversation that are kept or taken away together: groups of messages, and exchanges (HIST-1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Exchange", "MessageGroup"]


class MessageGroup(NamedTuple):
    """The messages from `start` to `end` (exclusive), which are kept or taken away as a whole: one message, or calls with all
    their results and whatever stands between, or a provider's opaque item with what must follow it.

    `state` is `open` where a call waits for its final result or a confirmation for its answer: such a group is never taken
    away. `opaque` says that it holds an item that the provider signed or encrypted: it is moved unchanged, or not at all."""

    start: int
    end: int
    state: str = "closed"
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A user's words and everything up to the next user's words: a batch (HIST-1). The first one may begin without a user's
    words. `groups` cover the messages from `start` to `end` without a gap."""

    start: int
    end: int
    groups: tuple[MessageGroup, ...]

    @property
    def open(self) -> bool:
        return any(group.state == "open" for group in self.groups)
